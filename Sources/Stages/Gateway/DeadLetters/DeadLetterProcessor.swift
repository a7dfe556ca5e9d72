internal import CatalogRecords
internal import Cryptography
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Replay
internal import StageSupport
internal import Telemetry
internal import Topics

/// The processor of the calls about dead letters. Each function answers one call. They block, and are confined to the
/// thread of the `DeadLetterService`.
final class DeadLetterProcessor {
    private struct StopRequested: Error {}
    private static let runIDByteCount = 6

    private let environment: StageEnvironment
    private let log: Log
    /// Raised when the gateway stops. A long call checks it between two dead letters.
    private let stopping: AtomicFlag
    private let reader = JSONReader()
    /// The consumers of the topic. They stay open between calls, because they start slowly.
    private var openTopic: DeadLetterTopic?

    init(in environment: StageEnvironment, log: Log, stopping: AtomicFlag) {
        self.environment = environment
        self.log = log
        self.stopping = stopping
    }

    func close() { openTopic = nil }

    /// Runs a call. An error becomes 503, and the next call opens the topic again.
    func respond(call: () throws -> HTTPResponse) -> HTTPResponse {
        do {
            return try call()
        } catch is StopRequested {
            return Unavailable.overloaded
        } catch {
            log.warning("cannot read or write dead letters; the call gets 503", .field("error", "\(error)"))
            openTopic = nil
            return Unavailable.unreachable
        }
    }

    /// Returns the open topic, or opens it.
    private func deadLetterTopic() -> DeadLetterTopic {
        if let openTopic { return openTopic }
        let topic = DeadLetterTopic(settings: environment.cluster.settings, layout: environment.layout)
        openTopic = topic
        return topic
    }

    /// Sums the matching dead letters by reason.
    func summarize(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var summary = DeadLetterSummary()
        try deadLetterTopic().forEach(matching: query.filter) { deadLetter, state in
            if query.includes(state) { summary.add(deadLetter, state: state) }
        }
        return DeadLetterResponse.summary(summary)
    }

    /// Lists at most `query.limit` dead letters, the newest first.
    func list(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var newest = NewestDeadLetters(limit: query.limit, after: query.after)
        try deadLetterTopic().forEach(matching: query.filter) { deadLetter, state in
            if query.includes(state) { newest.add(deadLetter, state: state) }
        }
        return DeadLetterResponse.list(newest.finish())
    }

    /// Shows the dead letter whose id the query has.
    func show(_ query: DeadLetterQuery) throws -> HTTPResponse {
        guard let id = query.filter.ids.first, let (letter, state) = try deadLetterTopic().find(id),
            query.filter.matches(letter)
        else { return DeadLetterQuery.unknownDeadLetter.response }
        return DeadLetterResponse.detail(of: letter, state: state)
    }

    /// Redrives or discards the dead letters that the body selects.
    func perform(
        _ command: DeadLetterService.DeadLetterCommand, for authorized: AuthorizedRequest
    ) throws -> HTTPResponse {
        let (body, caller) = (authorized.request.body, authorized.caller)
        let query: DeadLetterQuery
        do throws(JSONError) {
            query = try reader.read(body) { DeadLetterQuery(body: $0, of: caller.app.id) }
        } catch { return RefusedRequest(error).response }
        switch command {
        case .redrive: return try redrive(query, by: caller.key.id)
        case .discard: return try discard(query, by: caller.key.id)
        }
    }

    private func redrive(_ query: DeadLetterQuery, by author: String) throws -> HTTPResponse {
        let redrive = Redrive(
            deadLetters: deadLetterTopic(), filter: query.filter, author: author, run: Self.makeRunID())
        let tally = query.isDryRun ? try redrive.preview() : try redrive.execute { _ in try checkStopping() }
        return DeadLetterResponse.redriven(tally, isDryRun: query.isDryRun)
    }

    private func discard(_ query: DeadLetterQuery, by author: String) throws -> HTTPResponse {
        let discard = Discard(
            deadLetters: deadLetterTopic(), filter: query.filter, author: author, run: Self.makeRunID())
        if query.isDryRun {
            let (count, inDoubtCount) = try discard.preview()
            return DeadLetterResponse.discarded(count, inDoubt: inDoubtCount, isDryRun: true)
        }
        let count = try discard.execute { _ in try checkStopping() }
        return DeadLetterResponse.discarded(count, inDoubt: nil, isDryRun: false)
    }

    /// Ends a long call if the gateway stops.
    private func checkStopping() throws {
        if stopping.isRaised { throw StopRequested() }
    }

    /// Makes the id of one run, such as `g3fa29c01b4d7`, for the records in the topic and in the audit. `g` stands for
    /// a gateway.
    private static func makeRunID() -> String { "g" + Hex.text(of: Random.bytes(count: runIDByteCount)) }
}
