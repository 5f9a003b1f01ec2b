"""What a design will give before anybody has answered: expected errors, what fakes can move, coverage of views; the campaign that
a request asks for."""
