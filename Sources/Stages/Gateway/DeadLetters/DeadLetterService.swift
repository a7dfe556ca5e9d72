internal import Cryptography
internal import HTTPServer
internal import JSON
internal import Kafka
internal import Lifecycle
internal import LiveActivity
internal import Replay
internal import StageSupport
internal import Synchronization
internal import Telemetry
internal import Topics

/// The service for dead letters. It reads, redrives and discards them, one call at a time on one thread,
/// because a call
/// reads a whole topic. It uses the same code as the command line, so both refuse the same things.
final class DeadLetterService: Sendable {
    private let processor: LoopOwned<DeadLetterProcessor>
    private let stopping: AtomicFlag
    private let waiting = Atomic<Int>(0)

    init(in environment: StageEnvironment, log: Log) throws {
        let stopping = AtomicFlag()
        self.stopping = stopping
        processor = try LoopOwned(thread: "letters") { _ in
            DeadLetterProcessor(in: environment, log: log, stopping: stopping)
        }
    }

    /// Stops the service. A running call ends between two marks, and a later call can continue from there.
    func stop() {
        stopping.raise()
        processor.stop { $0.close() }
    }

    enum DeadLetterCommand: Sendable {
        case redrive
        case discard
    }

    // MARK: From the server's threads

    /// Lists or sums dead letters. Returns false, without an answer, if too many calls wait.
    func list(for incoming: AuthorizedRequest, query: DeadLetterQuery, isEach: Bool) -> Bool {
        enqueue(incoming) { isEach ? try $0.list(query) : try $0.summarize(query) }
    }

    func show(for incoming: AuthorizedRequest, query: DeadLetterQuery) -> Bool {
        enqueue(incoming) { try $0.show(query) }
    }

    func perform(for incoming: AuthorizedRequest, action deed: DeadLetterCommand) -> Bool {
        enqueue(incoming) { try $0.perform(for: incoming, action: deed) }
    }

    private func enqueue(
        _ incoming: AuthorizedRequest, call: @escaping @Sendable (DeadLetterProcessor) throws -> HTTPResponse
    ) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.deadLetterCallsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let isTaken = processor.execute { clerk in
            self.waiting.subtract(1, ordering: .relaxed)
            incoming.reply.send(clerk.respond { try call(clerk) })
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }

}

/// The worker of the service, confined to its thread.
private final class DeadLetterProcessor {
    private struct StopRequested: Error {}

    private let environment: StageEnvironment
    private let log: Log
    /// The stop signal of the process. A long call checks it between two steps.
    private let stopping: AtomicFlag
    private let reader = JSONReader()
    private var openTopic: DeadLetterTopic?

    init(in environment: StageEnvironment, log: Log, stopping: AtomicFlag) {
        self.environment = environment
        self.log = log
        self.stopping = stopping
    }

    func close() { openTopic = nil }

    func respond(call: () throws -> HTTPResponse) -> HTTPResponse {
        do { return try call() } catch is StopRequested { return Unavailable.overloaded } catch {
            log.warning("cannot read or write dead letters; the call gets 503", .field("error", "\(error)"))
            openTopic = nil
            return Unavailable.unreachable
        }
    }

    /// Returns the consumers. They stay open between calls, because they start slowly.
    private func deadLetterTopic() -> DeadLetterTopic {
        let known =
            openTopic ?? DeadLetterTopic(settings: environment.cluster.settings, layout: environment.layout)
        openTopic = known
        return known
    }

    func summarize(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var summary = DeadLetterSummary()
        try deadLetterTopic().forEach(matching: query.filter) { letter, state in
            if query.includes(state) { summary.add(letter, state: state) }
        }
        return DeadLetterResponse.summary(summary)
    }

    /// Lists dead letters, the newest first.
    func list(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var letters: [(DeadLetterRecord, DeadLetterJournal.DeadLetterState)] = []
        var more = 0
        try deadLetterTopic().forEach(matching: query.filter) { letter, state in
            guard query.includes(state) else { return }
            if letters.count < query.limit { letters.append((letter, state)) } else { more += 1 }
        }
        letters.sort { $0.0.rejection.rejectedAt > $1.0.rejection.rejectedAt }
        return DeadLetterResponse.list(letters, more: more)
    }

    func show(_ query: DeadLetterQuery) throws -> HTTPResponse {
        var found: HTTPResponse?
        try deadLetterTopic().forEach(matching: query.filter) { letter, state in
            found = DeadLetterResponse.detail(of: letter, state: state)
        }
        return found ?? DeadLetterQuery.unknownDeadLetter.response
    }

    func perform(for incoming: AuthorizedRequest, action deed: DeadLetterService.DeadLetterCommand) throws
        -> HTTPResponse
    {
        let (body, caller) = (incoming.request.body, incoming.caller)
        let query: DeadLetterQuery
        do throws(JSONError) {
            query = try reader.read(body) { DeadLetterQuery(body: $0, of: caller.app.id) }
        } catch { return RefusedRequest(error).response }
        switch deed {
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
            let (letters, busy) = try discard.preview()
            return DeadLetterResponse.discarded(letters, inDoubt: busy, isDryRun: true)
        }
        let letters = try discard.execute { _ in try checkStopping() }
        return DeadLetterResponse.discarded(letters, inDoubt: nil, isDryRun: false)
    }

    private func checkStopping() throws {
        if stopping.isRaised { throw StopRequested() }
    }

    private static func makeRunID() -> String { "g" + Hex.text(of: Random.bytes(count: 6)) }
}
