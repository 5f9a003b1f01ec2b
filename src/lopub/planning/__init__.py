"""Before anybody has answered: the campaign that a request asks for, the error to expect of a
design, the design that suits so many people and questions, and trials of it; also how far fakes can
move a result, and when to raise an alarm."""
