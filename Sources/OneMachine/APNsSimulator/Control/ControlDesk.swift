internal import HTTPServer
internal import JSON
internal import Lifecycle
internal import Synchronization

/// The state that the control API reads and changes. All of it is confined to the simulator's loop. Requests
/// come from the listener's thread and hop to the loop.
///
/// `@unchecked Sendable`: mutable state is used only inside `ask`, which runs on the loop.
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

    /// Assembles a simulator. Call on its loop.
    /// - Parameter makePhones: returns the initial phones, the same at each call.
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

    /// Restores the initial state, except for the clock, which never goes back, and the connections, which
    /// stay open.
    func reset() {
        let sink = phones?.sink
        standings.begin(with: makePhones())
        phones?.sink = sink
        simulator.judge.forget()
        journal.forget()
        mischief.replace(with: begunWith)
    }

    /// Makes all waiting callers return.
    func beginToStop() { stopping.store(true, ordering: .relaxed) }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// Runs `question` on the loop, between two turns of pushes. It must be quick.
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
    /// Adds a route whose handler may throw a refusal.
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
    /// Reads the body as one JSON value. A missing body counts as an empty object.
    func read<Value>(
        limits: JSONLimits = JSONLimits(bytesMax: 64 * 1024), _ decode: (JSONValue) -> Value
    ) throws -> Value {
        try JSONReader(limits: limits).read(body.isEmpty ? Array("{}".utf8) : body, decode)
    }

    /// Returns a number of the query, or `fallback` if it is missing.
    func number(_ name: String, in range: ClosedRange<Int>, or fallback: Int) throws -> Int {
        guard let text = query(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw ControlRefusal(
                400, "bad_query",
                message: "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns a Boolean of the query, or false if it is missing.
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
                message: "unknown field \(field.name); known fields are \(known.joined(separator: ", "))")
        }
    }
}
