internal import APNs
internal import Lifecycle
internal import Sender
internal import Simulation

// Histories with the production's pools (`PoolStateMachine`). A pool stands between a plan and APNs, so that events
// pass between them in every order. Only the connections are simulated (`SenderSimulation+Connections.swift`).
//
// A push goes `submitPush`, `advancePools`, `deliverRequest`, `receiveAnswer`, `endRequest`, `reportAnswer`.
extension SenderSimulation {
    /// The time within which APNs must answer a push. After it the outcome counts as unknown.
    private static let answerMillisecondsMax = 5_000

    /// Returns the pool for an app's pushes, with small random limits. Each kind of connections has its own pool.
    func pool(
        of process: SimulatedProcess, app: String, connections: PushConnections
    ) -> SimulatedPool {
        let key = SimulatedPoolKey(app: app, connections: connections)
        if let knownPool = process.pools[key] { return knownPool }
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.number(below: 2)
        settings.streamsPerConnectionMax = 1 + random.number(below: 4)
        settings.waitingMax = 1 + random.number(below: 3)
        settings.requestsMax = settings.waitingMax + 1 + random.number(below: 6)
        settings.lateAnswerMilliseconds = 2_000
        settings.consecutiveOverduesMax = 1 + random.number(below: 4)
        settings.backoffMilliseconds = 100...500
        let newPool = SimulatedPool(settings: settings, seed: random.next())
        process.pools[key] = newPool
        return newPool
    }

    /// Gives a push to its pool, which refuses it if it has no room.
    func submitPush(
        of process: SimulatedProcess, flight: SimulatedProcess.PushInFlight, app: String,
        over connections: PushConnections
    ) {
        let pool = pool(of: process, app: app, connections: connections)
        let deadline = now.advanced(byMilliseconds: Self.answerMillisecondsMax)
        do {
            let ticket = try pool.stateMachine.submit(sendBy: min(flight.sendBy, deadline), at: now)
            pool.requests[ticket] = SimulatedPool.Request(flight: flight, deadline: deadline)
            process.pushesInFlight.append(flight)
        } catch {
            let fault: PushFault = error == .stopped ? .stopped : .noConnection
            process.plan.ended(flight.tag, as: PushAnswer(.notProcessed(fault)), at: time)
        }
    }

    /// Withdraws all pushes that have not left.
    func withdrawAll(of process: SimulatedProcess) {
        for (_, pool) in process.pools.sorted(by: { $0.key < $1.key }) {
            for ticket in pool.stateMachine.takeWaiting() {
                reportAnswer(of: process, in: pool, request: ticket, answer: PushAnswer(.withdrawn))
            }
        }
    }

    /// Lets time pass in the pools: events on connections, new connections, and requests that leave.
    func advancePools(of process: SimulatedProcess) {
        for (_, pool) in process.pools.sorted(by: { $0.key < $1.key }) {
            pool.stateMachine.tick(at: now) { pool.budget.take(for: 1, request: $0, at: now) }
            performPoolActions(of: process, in: pool)
            for number in pool.connections.keys.sorted() {
                advanceConnection(of: process, in: pool, connection: number)
            }
            while let next = pool.stateMachine.nextSend(at: now) {
                performPoolActions(of: process, in: pool)
                pool.connections[next.connection]?.streams.append(SimulatedPool.Stream(ticket: next.ticket))
            }
            performPoolActions(of: process, in: pool)
        }
    }

    /// Lets requests that a killed process had sent arrive, or not.
    func deliverRequests(ofKilled process: SimulatedProcess) {
        for (_, pool) in process.pools.sorted(by: { $0.key < $1.key }) {
            for connection in pool.connections.values {
                for stream in connection.streams where !stream.hasArrived && occurs(percent: 50) {
                    if let request = pool.requests[stream.ticket] { recordProcessed(request.flight.job) }
                }
            }
        }
    }

    // MARK: Ends of requests

    /// Ends a request in the pool, and tells the plan what the pool reports.
    func endRequest(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket,
        with outcome: PoolOutcome, answer: PushAnswer? = nil
    ) {
        switch pool.stateMachine.end(ticket, with: outcome, at: now) {
        case .ended(let end):
            let answerOfAPNs = end == .answered ? answer : nil
            reportAnswer(
                of: process, in: pool, request: ticket, answer: answerOfAPNs ?? PushAnswer(end),
                mayGetLateAnswer: end == .unknown(.overdue))
        case .lateAnswer:
            var lateAnswer = answer ?? PushAnswer(.answered)
            lateAnswer.isLate = true
            reportAnswer(of: process, in: pool, request: ticket, answer: lateAnswer)
        case .noLateAnswer: giveUpAnswer(of: process, in: pool, request: ticket)
        case .retry, .stale: break
        }
        performPoolActions(of: process, in: pool)
    }

    /// Tells the pool that a connection has one free stream more.
    func freeStream(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32,
        request ticket: PoolTicket
    ) {
        if pool.stateMachine.handleFreedStream(of: ticket, on: number) == .noLateAnswer {
            giveUpAnswer(of: process, in: pool, request: ticket)
        }
    }

    /// Tells the plan that no late answer will come.
    func giveUpAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket
    ) {
        reportAnswer(
            of: process, in: pool, request: ticket, answer: PushAnswer(.unknown(.overdue), isLate: true))
    }

    /// Reports an answer to the plan as the worker does.
    ///
    /// - Parameter mayGetLateAnswer: Whether a second answer may follow. The request is remembered for it.
    func reportAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket, answer: PushAnswer,
        mayGetLateAnswer: Bool = false
    ) {
        guard let request = pool.requests[ticket] else {
            return reportViolation("a pool ends an unknown push")
        }
        if !mayGetLateAnswer {
            pool.requests[ticket] = nil
            process.pushesInFlight.removeAll { $0.tag == request.flight.tag }
        }
        endPush(of: process, flight: request.flight, by: answer)
    }
}
