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

/// The processor of the calls about dead letters. A call blocks its thread, to which the processor is confined
/// (`DeadLetterService`).
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

    /// Returns the answer to a call. An error becomes 503, and the next call opens the topic again.
    func response(to call: DeadLetterCall, of authorized: AuthorizedRequest) -> HTTPResponse {
        do {
            switch call {
            case .summarize(let query): return try summarize(query)
            case .list(let query): return try list(query)
            case .show(let query): return try show(query)
            case .redrive: return try redrive(try query(inBodyOf: authorized), by: authorized.caller.key.id)
            case .discard: return try discard(try query(inBodyOf: authorized), by: authorized.caller.key.id)
            }
        } catch is StopRequested {
            return Unavailable.overloaded
        } catch let error as JSONError {
            return RefusedRequest(error).response
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

    // MARK: Calls that read dead letters

    private func summarize(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var summary = DeadLetterSummary()
        try deadLetterTopic().forEach(matching: query.filter) { deadLetter, state in
            if query.includes(state) { summary.add(deadLetter, state: state) }
        }
        return DeadLetterResponse.summary(summary)
    }

    /// Lists at most `query.limit` dead letters, the newest first.
    private func list(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var newest = NewestDeadLetters(limit: query.limit, after: query.after)
        try deadLetterTopic().forEach(matching: query.filter) { deadLetter, state in
            if query.includes(state) { newest.add(deadLetter, state: state) }
        }
        return DeadLetterResponse.list(newest.finish())
    }

    private func show(_ query: DeadLetterQuery) throws -> HTTPResponse {
        guard let id = query.filter.ids.first, let (letter, state) = try deadLetterTopic().find(id),
            query.filter.matches(letter)
        else { return DeadLetterQuery.unknownDeadLetter.response }
        return DeadLetterResponse.detail(of: letter, state: state)
    }

    // MARK: Calls that change dead letters

    private func query(inBodyOf authorized: AuthorizedRequest) throws(JSONError) -> DeadLetterQuery {
        try reader.read(authorized.request.body) {
            DeadLetterQuery(body: $0, of: authorized.caller.app.id)
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
