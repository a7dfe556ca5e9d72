import LiveActivity
import Testing

@Test func `the first of several outcomes of a job counts`() {
    var outcomes = SendOutcomes()
    outcomes.hear(makeReceipt())
    #expect(outcomes.decided == 202 && outcomes[.accepted] == 201 && outcomes[.rejected] == 1)
    #expect(outcomes.reasons == ["Unregistered": 1] && outcomes.decidedAt == 1_763_600_000_500)
    // A zombie's outcome for the same jobs, then an outcome for a job of another sheet.
    var late = makeReceipt()
    late.parts = [Receipt.Part(.unknown, LineSet(all: 202))]
    outcomes.hear(late)
    #expect(outcomes.decided == 202 && outcomes[.unknown] == 0)
    late.place = JobPlace(topic: "jobs", partition: 3, offset: 43)
    outcomes.hear(late)
    #expect(outcomes.decided == 404 && outcomes[.unknown] == 202)
}

@Test func `intermediate marks are not outcomes`() {
    var outcomes = SendOutcomes()
    var receipt = makeReceipt()
    receipt.parts = [.moved, .intent, .released].map { Receipt.Part($0, LineSet(all: 10)) }
    outcomes.hear(receipt)
    #expect(outcomes.decided == 0 && outcomes.decidedAt == nil && outcomes.counts.isEmpty)
}
