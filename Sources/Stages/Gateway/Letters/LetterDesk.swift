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
final class LetterDesk: Sendable {
    private let clerk: LoopOwned<LetterClerk>
    private let stopping: Flag
    private let waiting = Atomic<Int>(0)

    init(_ environment: StageEnvironment, log: Log) throws {
        let stopping = Flag()
        self.stopping = stopping
        clerk = try LoopOwned(thread: "letters") { _ in LetterClerk(environment, log: log, stopping: stopping)
        }
    }

    /// Stops the service. A running call ends between two marks, and a later call can continue from there.
    func stop() {
        stopping.raise()
        clerk.stop { $0.end() }
    }

    enum Deed: Sendable {
        case redrive
        case discard
    }

    // MARK: From the server's threads

    /// Lists or sums dead letters. Returns false, without an answer, if too many calls wait.
    func look(_ incoming: Incoming, at query: LetterQuery, isEach: Bool) -> Bool {
        take(incoming) { isEach ? try $0.each(query) : try $0.sums(query) }
    }

    func show(_ incoming: Incoming, _ query: LetterQuery) -> Bool {
        take(incoming) { try $0.whole(query) }
    }

    func act(_ incoming: Incoming, _ deed: Deed) -> Bool {
        take(incoming) { try $0.act(incoming, deed) }
    }

    private func take(
        _ incoming: Incoming, _ call: @escaping @Sendable (LetterClerk) throws -> HTTPResponse
    ) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= GatewayLimits.letterCallsWaitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        let isTaken = clerk.execute { clerk in
            self.waiting.subtract(1, ordering: .relaxed)
            incoming.reply.send(clerk.answer { try call(clerk) })
        }
        if !isTaken { waiting.subtract(1, ordering: .relaxed) }
        return isTaken
    }

}

/// The worker of the service, confined to its thread.
private final class LetterClerk {
    private struct Stopping: Error {}

    private let environment: StageEnvironment
    private let log: Log
    /// The stop signal of the process. A long call checks it between two steps.
    private let stopping: Flag
    private let reader = JSONReader()
    private var box: LetterBox?

    init(_ environment: StageEnvironment, log: Log, stopping: Flag) {
        self.environment = environment
        self.log = log
        self.stopping = stopping
    }

    func end() { box = nil }

    func answer(_ call: () throws -> HTTPResponse) -> HTTPResponse {
        do { return try call() } catch is Stopping { return Unavailable.overloaded } catch {
            log.warning("cannot read or write dead letters; the call gets 503", .field("error", "\(error)"))
            box = nil
            return Unavailable.unreachable
        }
    }

    /// Returns the consumers. They stay open between calls, because they start slowly.
    private func connected() -> LetterBox {
        let known = box ?? LetterBox(environment.cluster.settings, environment.layout)
        box = known
        return known
    }

    func sums(_ query: LetterQuery) throws -> HTTPResponse {
        var summary = LetterSummary()
        try connected().forEach(query.filter) { letter, state in
            if query.shows(state) { summary.add(letter, state) }
        }
        return LetterAnswer.sums(summary)
    }

    /// Lists dead letters, the newest first.
    func each(_ query: LetterQuery) throws -> HTTPResponse {
        var letters: [(Letter, LetterJournal.State)] = []
        var more = 0
        try connected().forEach(query.filter) { letter, state in
            guard query.shows(state) else { return }
            if letters.count < query.limit { letters.append((letter, state)) } else { more += 1 }
        }
        letters.sort { $0.0.why.at > $1.0.why.at }
        return LetterAnswer.list(letters, more: more)
    }

    func whole(_ query: LetterQuery) throws -> HTTPResponse {
        var found: HTTPResponse?
        try connected().forEach(query.filter) { letter, state in found = LetterAnswer.whole(letter, state) }
        return found ?? LetterQuery.unknown.response
    }

    func act(_ incoming: Incoming, _ deed: LetterDesk.Deed) throws -> HTTPResponse {
        let (body, visitor) = (incoming.request.body, incoming.visitor)
        let query: LetterQuery
        do throws(JSONError) {
            query = try reader.read(body) { LetterQuery($0, of: visitor.app.id) }
        } catch { return RefusedRequest(error).response }
        switch deed {
        case .redrive: return try redrive(query, by: visitor.key.id)
        case .discard: return try discard(query, by: visitor.key.id)
        }
    }

    private func redrive(_ query: LetterQuery, by author: String) throws -> HTTPResponse {
        let redrive = Redrive(connected(), query.filter, author: author, run: Self.freshRun())
        let tally = query.isDryRun ? try redrive.survey() : try redrive.carryOut { _ in try checkStopping() }
        return LetterAnswer.redrive(tally, isDryRun: query.isDryRun)
    }

    private func discard(_ query: LetterQuery, by author: String) throws -> HTTPResponse {
        let discard = Discard(connected(), query.filter, author: author, run: Self.freshRun())
        if query.isDryRun {
            let (letters, busy) = try discard.survey()
            return LetterAnswer.discard(letters, inDoubt: busy, isDryRun: true)
        }
        let letters = try discard.carryOut { _ in try checkStopping() }
        return LetterAnswer.discard(letters, inDoubt: nil, isDryRun: false)
    }

    private func checkStopping() throws {
        if stopping.isRaised { throw Stopping() }
    }

    private static func freshRun() -> String { "g" + Hex.text(Random.bytes(6)) }
}
