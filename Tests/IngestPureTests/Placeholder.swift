enum IngestPureTestsPlaceholder {}
