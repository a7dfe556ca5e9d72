internal import HTTPServer
internal import JSON
internal import Lifecycle
internal import Synchronization

/// What the control API acts upon. All of it lives on the simulator's loop; requests come from the
/// listener's thread and hop over.
///
/// `@unchecked Sendable`: what changes is touched within `ask` only, which is on the loop.
final class ControlDesk: @unchecked Sendable {
    let loop: EventLoop
    let simulator: Simulator
    let mischief: ScriptedMischief
    let journal: Journal

    let standings: TokenStandings
    private let begunWith: Script
    private let makePhones: () -> Phones?
    private let stopping = Atomic(false)

    var phones: Phones? { standings.phones }

    /// Puts a simulator together; on its loop.
    /// - Parameter makePhones: the phones as they are at the beginning, each time the same.
    init(
        _ settings: SimulatorSettings, _ credentials: SimulatorCredentials, on loop: EventLoop,
        script: Script, journal: Journal, clock: SimulatorClock, makePhones: @escaping () -> Phones?
    ) {
        self.loop = loop
        self.journal = journal
        begunWith = script
        self.makePhones = makePhones
        let mischief = ScriptedMischief(on: loop, script: script)
        standings = TokenStandings(before: makePhones())
        let simulator = Simulator(
            settings, credentials: credentials, on: loop, phones: standings, mischief: mischief,
            journal: journal, clock: clock)
        mischief.inflict = { [weak simulator] fault in simulator?.inflict(fault) }
        self.mischief = mischief
        self.simulator = simulator
    }

    /// Everything is as it was at the start, but the clock, which never goes back, and connections, which stay.
    func reset() {
        let sink = phones?.sink
        standings.begin(with: makePhones())
        phones?.sink = sink
        simulator.judge.forget()
        journal.forget()
        mischief.replace(with: begunWith)
    }

    /// Whoever waits is sent away.
    func beginToStop() { stopping.store(true, ordering: .relaxed) }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// Runs on the loop, between two turns of pushes: it must be quick.
    func ask<Value: Sendable>(
        _ question: @escaping @Sendable (ControlDesk) throws(ControlRefusal) -> Value
    ) async throws -> Value {
        let answer: Result<Value, ControlRefusal> = await withCheckedContinuation { continuation in
            let isQueued = loop.execute {
                do throws(ControlRefusal) {
                    continuation.resume(returning: .success(try question(self)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            if !isQueued { continuation.resume(returning: .failure(.stopping)) }
        }
        return try answer.get()
    }
}

extension HTTPRoutes {
    /// A route whose handler may refuse.
    mutating func control(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int = 64 * 1024,
        handle: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        onAsync(method, pattern, bodyBytesMax: bodyBytesMax) { request in
            do {
                return try await handle(request)
            } catch let refusal as ControlRefusal {
                return refusal.response
            } catch let error as JSONError {
                return ControlRefusal(error).response
            } catch {
                return .error(500, "internal", message: "\(error)")
            }
        }
    }
}

extension HTTPRequest {
    /// The body as one JSON value; a request without a body has an empty object.
    func read<Value>(
        limits: JSONLimits = JSONLimits(bytesMax: 64 * 1024), _ decode: (JSONValue) -> Value
    ) throws -> Value {
        try JSONReader(limits: limits).read(body.isEmpty ? Array("{}".utf8) : body, decode)
    }

    /// A number of the query; `fallback` where it is not given.
    func number(_ name: String, in range: ClosedRange<Int>, or fallback: Int) throws -> Int {
        guard let text = query(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw ControlRefusal(
                400, "bad_query",
                message: "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// `true` or `false` of the query; false where it is not given.
    func flag(_ name: String) throws -> Bool {
        guard let text = query(name) else { return false }
        guard let flag = Bool(text) else {
            throw ControlRefusal(400, "bad_query", message: "\(name) must be true or false")
        }
        return flag
    }

    func refuseUnknownQuery(_ known: String...) throws {
        for field in query where !known.contains(field.name) {
            throw ControlRefusal(
                400, "bad_query",
                message: "there is no \(field.name); known are \(known.joined(separator: ", "))")
        }
    }
}
