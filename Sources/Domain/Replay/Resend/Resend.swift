internal import Identifiers
internal import JSON
internal import Jobs
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Sends
internal import Topics

/// A call that pushes the failed jobs of one send again, as jobs of a new send. A job has failed if APNs
/// rejected it for a reason other than its token. On request, starts with an unknown outcome are pushed again
/// too. Payload and version stay the same, so phones and senders can still detect newer content.
package final class Resend {
    /// The limits of sheets and bytes that are sent together.
    static let batchSheetsMax = 200
    static let batchBytesMax = 16 << 20

    /// The results of a call.
    package struct Tally: Sendable, Hashable {
        /// The jobs that are sent, or would be sent.
        package var jobs = 0
        /// The sheets of these jobs.
        package var sheets = 0
        /// The starts with an unknown outcome that were not requested.
        package var unknown = 0
        /// The jobs whose token is dead.
        package var deadTokens = 0
        /// The jobs that a resend or a redrive has already sent again.
        package var sentBefore = 0
        /// The jobs whose sheet has expired in its topic.
        package var lost = 0
        /// The other jobs that are not sent, by reason.
        package var skipped: [ReplaySkipReason: Int] = [:]

        package init() {}
    }

    let deadLetters: DeadLetterTopic
    let sendID: String
    let app: String
    /// Whether starts with an unknown outcome are pushed again too.
    let includesUnknownStarts: Bool
    let author: String
    let run: String
    let busyMilliseconds: Int64
    var tally = Tally()

    /// - Parameters:
    ///   - send: The id that the send was accepted with.
    ///   - author: The caller, for the marks and the audit.
    ///   - run: The unique name of this call.
    ///   - busyMilliseconds: The time in which the jobs of another call are left alone.
    package init(
        deadLetters: DeadLetterTopic, send: String, of app: String, withUnknownStarts: Bool,
        author: String, run: String,
        busyMilliseconds: Int64 = Redrive.busyMilliseconds
    ) {
        (self.deadLetters, self.sendID, self.app) = (deadLetters, send, app)
        self.includesUnknownStarts = withUnknownStarts
        self.author = author
        self.run = run
        self.busyMilliseconds = busyMilliseconds
    }

    /// The id of the new send.
    package var newSendID: String { newSendID(ofRun: run) }

    /// Returns the id of the new send of any call: the original id, which is cut if it is too long, a dot, and the name
    /// of the call.
    func newSendID(ofRun run: String) -> String {
        "\(sendID.prefix(NameRules.bytesMax - 1 - run.utf8.count)).\(run)"
    }

    /// Counts the failed jobs, without writing anything.
    package func preview() throws -> Tally { try processLanes(by: nil) { _, _ in } }

    /// Sends the failed jobs.
    ///
    /// - Parameter progress: Called after each lane with the number of finished lanes and the counts.
    package func execute(progress: (Int, Tally) -> Void) throws -> Tally {
        try processLanes(
            by: ReplayWriter(deadLetters: deadLetters, author: author, run: run), progress: progress)
    }

    /// - Parameter writer: Nil for a preview.
    private func processLanes(by writer: ReplayWriter?, progress: (Int, Tally) -> Void) throws -> Tally {
        tally = Tally()
        guard let acceptedAt = try acceptedAt() else {
            throw ReplayFailure(
                exitStatus: .noInput,
                description:
                    "there is no such send of \(app) in the last seven days; check the id and the app")
        }
        try writer?.writeAudit(
            "send.resend", app: app, subject: String("\(sendID), run \(run)".prefix(NameRules.bytesMax)))
        for lane in deadLetters.partitions {
            try processLane(
                lane, since: SendReceiptFilter.firstReceiptTime(acceptedAt: acceptedAt), by: writer)
            progress(Int(lane) + 1, tally)
        }
        return tally
    }

    /// Returns the time at which the send was accepted, or nil if the app has no such send.
    private func acceptedAt() throws -> Int64? {
        let key = RecordKey.join(sendID)
        let partition = Murmur2.partition(forKey: key.span, partitionCount: deadLetters.layout.lanes)
        let reader = JSONReader()
        var acceptedAt: Int64?
        try deadLetters.scan(.progress, in: Int32(partition)) { record in
            guard let recordKey = [UInt8](copying: record.key), recordKey == key,
                let value = [UInt8](copying: record.value),
                let progress = try? ProgressRecord.decode(value, with: reader), progress.key.app == app
            else { return }
            acceptedAt = progress.acceptedAt
        }
        return acceptedAt
    }
}
