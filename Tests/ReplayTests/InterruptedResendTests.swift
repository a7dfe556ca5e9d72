import Foundation
import Jobs
import Payloads
import Replay
import Testing
import Topics

/// Calls of resend that are killed at any step, or that run at the same time. The tests write the marks and the records
/// of killed calls. Each job of a sheet has failed, and must be sent again once.
@Suite(.timeLimit(.minutes(3))) struct InterruptedResendTests {
    let stand: ReplayStand

    init() throws {
        stand = try ReplayStand()
        try stand.writeAccepted()
    }

    /// Writes a sheet whose jobs have failed.
    private func writeFailedSheet(to phones: Range<Int>) throws -> JobPosition {
        try stand.writeSheet(
            stand.head(), to: phones,
            outcomes: [Receipt.Part(.rejected, lines: LineSet(all: phones.count), status: 500)])
    }

    /// Resends the failed jobs, and takes over unfinished calls at once.
    private func resend(run: String = "r1") throws -> Resend.Tally {
        try stand.resend(run: run).execute { _, _ in }
    }

    // MARK: Killed calls

    @Test func `the next call completes a killed call, whatever the killed call had done`() throws {
        let sentPosition = try writeFailedSheet(to: 0..<1)
        let unsentPosition = try writeFailedSheet(to: 1..<2)
        for position in [sentPosition, unsentPosition] {
            try stand.writeResendMark(.begun, ofRun: "dead", at: position, lines: LineSet(all: 1))
        }
        // The killed call has sent one of the two jobs.
        try stand.writeResentRecord(ofRun: "dead", at: sentPosition, to: 0..<1)
        #expect(try stand.resend(busyMilliseconds: 60_000).preview().skipped == [.busy: 2])
        let preview = try stand.resend().preview()
        #expect(preview.jobs == 1 && preview.sentBefore == 1, "\(preview)")
        let tally = try resend()
        #expect(tally.jobs == 1 && tally.sentBefore == 1, "\(tally)")
        #expect(try resend(run: "r2").sentBefore == 2)
        #expect(try stand.records(of: .jobsLater5s).count == 2)
    }

    @Test func `two calls that are killed one after the other, each at any step, lose and repeat no job`()
        throws
    {
        var phones = 0..<0
        for killedAfter in 1...3 {
            for nextKilledAfter in 0...4 {
                phones = phones.upperBound..<phones.upperBound + 2
                let position = try writeFailedSheet(to: phones)
                let firstPhone = phones.prefix(1)
                func mark(_ phase: DeadLetterMark.Phase, _ run: String, _ lines: LineSet) throws {
                    try stand.writeResendMark(phase, ofRun: run, at: position, lines: lines)
                }
                // The first call sends only the first job of the sheet.
                let steps: [() throws -> Void] = [
                    { try mark(.begun, "dead", LineSet(lines: 0)) },
                    { try stand.writeResentRecord(ofRun: "dead", at: position, to: firstPhone) },
                    { try mark(.done, "dead", LineSet(lines: 0)) },
                ]
                // The next call sends the jobs that the first call has not sent.
                let wasSent = killedAfter > 1
                let restPhones = wasSent ? phones.suffix(1) : phones
                let restLines = wasSent ? LineSet(lines: 1) : LineSet(lines: 0, 1)
                let nextSteps: [() throws -> Void] = [
                    { try mark(wasSent ? .done : .left, "dead", LineSet(lines: 0)) },
                    { try mark(.begun, "next", restLines) },
                    { try stand.writeResentRecord(ofRun: "next", at: position, to: restPhones) },
                    { try mark(.done, "next", restLines) },
                ]
                for step in steps.prefix(killedAfter) + nextSteps.prefix(nextKilledAfter) { try step() }
            }
        }
        let tally = try resend()
        #expect(tally.jobs + tally.sentBefore == phones.upperBound, "\(tally)")
        let second = try resend(run: "r2")
        #expect(second.jobs == 0 && second.sentBefore == phones.upperBound, "\(second)")
        let expected = (0..<phones.upperBound).map { "i\($0)" }
        #expect(try stand.resentInstallations().sorted() == expected.sorted())
    }

    @Test func `a killed call does not make the next one repeat or omit the jobs of an earlier call`() throws
    {
        let position = try writeFailedSheet(to: 0..<2)
        try stand.writeResendMark(.begun, ofRun: "earlier", at: position, lines: LineSet(lines: 0))
        try stand.writeResentRecord(ofRun: "earlier", at: position, to: 0..<1)
        try stand.writeResendMark(.done, ofRun: "earlier", at: position, lines: LineSet(lines: 0))
        // The killed call has begun with the other job, and has not sent it. The record of the earlier call has the
        // same sheet and the same minute.
        try stand.writeResendMark(.begun, ofRun: "dead", at: position, lines: LineSet(lines: 1))
        let tally = try resend()
        #expect(tally.jobs == 1 && tally.sentBefore == 1, "\(tally)")
        #expect(try stand.resentInstallations() == ["i0", "i1"])
        #expect(try resend(run: "r2").sentBefore == 2)
    }

    @Test func `a left mark frees all jobs of its call, also if an earlier version named only some`() throws {
        let position = try writeFailedSheet(to: 0..<2)
        try stand.writeResendMark(.begun, ofRun: "dead", at: position, lines: LineSet(lines: 0, 1))
        try stand.writeResendMark(.left, ofRun: "dead", at: position, lines: LineSet(lines: 0))
        #expect(try resend().jobs == 2)
        #expect(try stand.resentInstallations() == ["i0", "i1"])
    }

    @Test func `a dead letter is in doubt if the resend of its jobs was killed`() throws {
        let position = try writeFailedSheet(to: 0..<1)
        try stand.writeDeadLetter(of: stand.head(), to: 0..<1, firstAt: position)
        try stand.writeResendMark(.begun, ofRun: "dead", at: position, lines: LineSet(all: 1))
        #expect(try stand.states() == [.doubtful])
        #expect(try resend().jobs == 1)
        #expect(try stand.states() == [.redriven])
    }

    // MARK: Calls at the same time

    @Test(arguments: [false, true])
    func `a job that only the later of two calls has marked is sent`(firstIsDone: Bool) throws {
        let position = try writeFailedSheet(to: 0..<2)
        // The later call has not seen the first mark. It sends nothing, because its own mark is the second one.
        try stand.writeResendMark(.begun, ofRun: "first", at: position, lines: LineSet(lines: 0))
        try stand.writeResendMark(.begun, ofRun: "later", at: position, lines: LineSet(lines: 0, 1))
        if firstIsDone {
            try stand.writeResentRecord(ofRun: "first", at: position, to: 0..<1)
            try stand.writeResendMark(.done, ofRun: "first", at: position, lines: LineSet(lines: 0))
        }
        let tally = try resend()
        #expect(tally.jobs == (firstIsDone ? 1 : 2) && tally.sentBefore == (firstIsDone ? 1 : 0), "\(tally)")
        #expect(try stand.resentInstallations() == ["i0", "i1"])
    }

    @Test func `a mark does not count for the jobs with which another call is done`() throws {
        let position = try writeFailedSheet(to: 0..<2)
        try stand.writeResendMark(.begun, ofRun: "first", at: position, lines: LineSet(lines: 0))
        try stand.writeResentRecord(ofRun: "first", at: position, to: 0..<1)
        try stand.writeResendMark(.done, ofRun: "first", at: position, lines: LineSet(lines: 0))
        // The later call has not seen the marks of the first one, and is killed before it gives up the other job.
        try stand.writeResendMark(.begun, ofRun: "later", at: position, lines: LineSet(lines: 0, 1))
        let tally = try resend()
        #expect(tally.jobs == 1 && tally.sentBefore == 1, "\(tally)")
        #expect(try stand.resentInstallations() == ["i0", "i1"])
    }

    @Test func `all jobs of a sheet are busy while another call sends some of them`() throws {
        let position = try writeFailedSheet(to: 0..<2)
        try stand.writeResendMark(.begun, ofRun: "other", at: position, lines: LineSet(lines: 0))
        let tally = try stand.resend(busyMilliseconds: 60_000).execute { _, _ in }
        #expect(tally.jobs == 0 && tally.skipped == [.busy: 2], "\(tally)")
        try stand.writeResentRecord(ofRun: "other", at: position, to: 0..<1)
        try stand.writeResendMark(.done, ofRun: "other", at: position, lines: LineSet(lines: 0))
        #expect(try resend(run: "r2").jobs == 1)
        #expect(try stand.resentInstallations() == ["i0", "i1"])
    }

    @Test func `two resends at the same time send each job once`() async throws {
        // Two batches of starts, which only the second call sends. So the first call is done with the failed jobs after the
        // second call has read the marks and before it writes its own mark about them.
        for phone in 0..<400 {
            _ = try stand.writeSheet(
                stand.head(.start), to: phone..<phone + 1,
                outcomes: [Receipt.Part(.unknown, lines: LineSet(all: 1))])
        }
        for phone in 400..<450 { _ = try writeFailedSheet(to: phone..<phone + 1) }
        let stand = stand
        async let jobs = onThread {
            try stand.resend(run: "r1", busyMilliseconds: 60_000).execute { _, _ in }.jobs
        }
        async let otherJobs = onThread {
            try stand.resend(withUnknownStarts: true, run: "r2", busyMilliseconds: 60_000)
                .execute { _, _ in }.jobs
        }
        try await expectEachJobOnce(after: jobs + otherJobs, of: 450)
    }

    @Test func `a resend and a redrive at the same time send each job once`() async throws {
        for phone in 0..<300 {
            let position = try writeFailedSheet(to: phone..<phone + 1)
            try stand.writeDeadLetter(of: stand.head(), to: phone..<phone + 1, firstAt: position)
        }
        let stand = stand
        async let jobs = onThread {
            try stand.resend(run: "r1", busyMilliseconds: 60_000).execute { _, _ in }.jobs
        }
        async let otherJobs = onThread {
            try stand.redrive(run: "r2", busyMilliseconds: 60_000).execute { _ in }.jobs
        }
        try await expectEachJobOnce(after: jobs + otherJobs, of: 300)
    }

    /// Runs a call on its own thread, because the threads of tasks are too few to run two blocking calls at the same time.
    private func onThread(_ call: @escaping @Sendable () throws -> Int) async throws -> Int {
        try await withCheckedThrowingContinuation { done in
            Thread.detachNewThread { done.resume(with: Result { try call() }) }
        }
    }

    /// Sends the jobs that both calls left alone, and expects each job once.
    private func expectEachJobOnce(after sentJobs: Int, of jobCount: Int) throws {
        let rest = try stand.resend(withUnknownStarts: true, run: "r3").execute { _, _ in }
        #expect(sentJobs + rest.jobs == jobCount && rest.skipped.isEmpty, "\(sentJobs) and \(rest)")
        let expected = (0..<jobCount).map { "i\($0)" }
        #expect(try stand.resentInstallations().sorted() == expected.sorted())
    }
}
