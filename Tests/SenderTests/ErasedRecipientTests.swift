import Identifiers
import Jobs
import Lifecycle
import Sends
import Testing

@testable import Sender

/// Tests of the erasure of a recipient: jobs that wait for the recipient are dropped, and all others leave. A
/// `DeliveryPlan` has one lane. Each sheet has one update to `ann` and one to `ben`.
@Suite struct ErasedRecipientTests {
    private static let users = ["ann", "ben"]

    private var plan = DeliveryPlan(SenderLimits(), seed: 1)
    private var time = CurrentTime.testStart
    private var nextOffset: Int64 = 0
    /// The reasons of the lines that ended without a push.
    private var droppedReasons: [String] = []

    /// Takes lane 0 over: the versions and the lane's receipts were read, so that its jobs may leave.
    init() {
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder())])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
        plan.commitMetadata(at: time)
    }

    /// Delivers a sheet.
    ///
    /// - Parameters:
    ///   - writtenAfterMilliseconds: the time of its record after the start of the test.
    ///   - isMoved: whether the jobs have waited in a tier.
    private mutating func arrive(
        version: Int64, app: String = "shop", writtenAfterMilliseconds: Int64, isMoved: Bool = false
    ) throws {
        // A phone is named after its user and the version.
        let update = try SheetRecord.update(
            of: app, to: Self.users.map { "\($0)-\(version)" }, in: "g\(version)", version: version,
            at: .testStart,
            recipient: { phone in "u:\(phone.prefix { $0 != "-" })" })
        let origin = SheetOrigin(
            topic: "jobs", partition: 0, offset: 1_000 + nextOffset, lines: LineSet(all: Self.users.count),
            attempt: 2, dueAt: 0)
        let sheet = try SheetRecord(
            update.content, origin: isMoved ? origin.headerValue : nil,
            writtenAt: CurrentTime.testStart.unixMilliseconds + writtenAfterMilliseconds)
        plan.arrived(sheet, from: .normal, lane: 0, offset: nextOffset, at: time)
        nextOffset += 1
        plan.commitMetadata(at: time)
    }

    private mutating func erase(_ user: String, afterMilliseconds: Int64) {
        plan.erased(
            RecipientErasure(app: "shop", recipient: .user(user)),
            erasedAt: CurrentTime.testStart.unixMilliseconds + afterMilliseconds, at: time)
    }

    /// Lets pushes leave, accepts them, and stores the receipts. Returns the recipients of the pushes, and adds the
    /// reasons of the dropped jobs to `droppedReasons`.
    private mutating func pushedRecipients(capacity: Int = 10) -> [String] {
        time.advance(byMilliseconds: 1)
        plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
        plan.step(at: time) { _, _ in .open(capacity: capacity) }
        let pushes = plan.actions.pushes
        // The recipients are read before the answers, because a sheet whose jobs are done loses its content.
        let recipients = pushes.map { $0.sheet.text($0.sheet.index.lines[$0.line].recipient) }
        time.advance(byMilliseconds: 1_000)
        for push in pushes { plan.accepted(push.tag, at: time) }
        // This step writes the receipts. No further push leaves in it.
        plan.step(at: time) { _, _ in .open(capacity: 0) }
        for (id, write) in plan.actions.writes {
            if case .receipt(let parts) = write.content {
                // A job of an erased user ends as superseded. Its reason tells it from other superseded jobs.
                for part in parts where part.outcome == .superseded {
                    part.lines.forEachLine { _ in droppedReasons.append(part.reason ?? "none") }
                }
            }
            plan.stored(id, offset: Int64(id), at: time)
        }
        plan.actions.removeAll()
        return recipients
    }

    @Test mutating func `a job that waits for an erased user is dropped with that reason`() throws {
        try arrive(version: 1, writtenAfterMilliseconds: 0)
        #expect(pushedRecipients(capacity: 0).isEmpty)
        erase("ann", afterMilliseconds: 5)
        #expect(pushedRecipients() == ["u:ben"])
        #expect(droppedReasons == ["erased"])
    }

    @Test
    mutating func `a job that fan-out wrote shortly after the erasure is dropped, and a later one leaves`()
        throws
    {
        erase("ann", afterMilliseconds: 5)
        let settle = ErasedRecipients.settleMilliseconds
        try arrive(version: 1, writtenAfterMilliseconds: 5 + settle)
        #expect(pushedRecipients() == ["u:ben"])
        try arrive(version: 2, writtenAfterMilliseconds: 6 + settle)
        #expect(pushedRecipients() == ["u:ann", "u:ben"], "the user has logged in again")
    }

    @Test mutating func `a job that has waited in a tier is dropped, however late it comes back`() throws {
        erase("ann", afterMilliseconds: 5)
        try arrive(
            version: 1, writtenAfterMilliseconds: 10 * ErasedRecipients.settleMilliseconds, isMoved: true)
        #expect(pushedRecipients() == ["u:ben"])
    }

    @Test mutating func `the user of another app with the same id keeps the pushes`() throws {
        try arrive(version: 1, app: "bank", writtenAfterMilliseconds: 0)
        erase("ann", afterMilliseconds: 5)
        #expect(pushedRecipients() == ["u:ann", "u:ben"])
    }
}
