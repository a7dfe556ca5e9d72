import Jobs
import Testing

// The outcomes of a send, counted by job.

@Test func `the first of several outcomes of a job counts`() {
    var outcomes = SendOutcomes()
    outcomes.add(makeReceipt())
    #expect(outcomes.finalJobs == 202 && outcomes[.accepted] == 201 && outcomes[.rejected] == 1)
    #expect(outcomes.reasons == ["Unregistered": 1] && outcomes.lastFinalAt == 1_763_600_000_500)
    // A zombie's outcome for the same jobs, then an outcome for a job of another sheet.
    var late = makeReceipt()
    late.parts = [Receipt.Part(.unknown, lines: LineSet(all: 202))]
    outcomes.add(late)
    #expect(outcomes.finalJobs == 202 && outcomes[.unknown] == 0)
    late.position = JobPosition(topic: "jobs", partition: 3, offset: 43)
    outcomes.add(late)
    #expect(outcomes.finalJobs == 404 && outcomes[.unknown] == 202)
}

@Test func `intermediate marks are not outcomes`() {
    var outcomes = SendOutcomes()
    var receipt = makeReceipt()
    receipt.parts = [.moved, .intent, .released].map { Receipt.Part($0, lines: LineSet(all: 10)) }
    outcomes.add(receipt)
    #expect(outcomes.finalJobs == 0 && outcomes.lastFinalAt == nil && outcomes.counts.isEmpty)
}
