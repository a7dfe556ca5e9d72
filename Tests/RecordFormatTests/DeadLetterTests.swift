import RecordFormat
import Testing

@Test func `a dead letter describes the rejection in headers`() {
    let letter = DeadLetter(
        stage: "ingest", code: "missing", reason: "token is missing", topic: "flotilla.reports",
        partition: 3, offset: 42, writtenAt: 1, rejectedAt: 2)
    let headers = letter.headers.map { (name: $0.name.rawValue, value: $0.value) }
    #expect(
        headers.map { "\($0.name)=\($0.value)" } == [
            "flotilla-dead-v=1", "flotilla-dead-stage=ingest", "flotilla-dead-code=missing",
            "flotilla-dead-reason=token is missing", "flotilla-dead-topic=flotilla.reports",
            "flotilla-dead-partition=3", "flotilla-dead-offset=42", "flotilla-dead-written-at=1",
            "flotilla-dead-at=2",
        ])
    #expect(DeadLetter(headers: [(name: "other", value: "x")] + headers) == letter)
    for index in headers.indices {
        var fewer = headers
        fewer.remove(at: index)
        #expect(DeadLetter(headers: fewer) == nil)
    }
    let long = DeadLetter(
        stage: "s", code: "c", reason: String(repeating: "x", count: 5000), topic: "t", partition: 0,
        offset: 0, writtenAt: 0, rejectedAt: 0)
    #expect(long.reason.count == DeadLetter.reasonCharactersMax)
}
