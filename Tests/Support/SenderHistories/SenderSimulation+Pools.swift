internal import APNs
internal import Lifecycle
internal import Sender
internal import Simulation

// Histories with the production's pools. The pools stand between a plan and APNs, so that events pass between them in
// every order. Only the connections are simulated.
extension SenderSimulation {
    private static let answerMillisecondsMax = 5_000

    /// Returns the pool for an app's pushes, with small random limits. Pushes to suspect tokens have their own pool.
    func pool(of process: SimulatedProcess, app: String, isSuspect: Bool) -> SimulatedPool {
        let key = SimulatedPoolKey(app: app, isSuspect: isSuspect)
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
        of process: SimulatedProcess, flight: SimulatedProcess.PushInFlight, app: String, isSuspect: Bool
    ) {
        let pool = pool(of: process, app: app, isSuspect: isSuspect)
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

    // MARK: Connections

    /// Carries out the actions of the pool's state machine.
    private func performPoolActions(of process: SimulatedProcess, in pool: SimulatedPool) {
        for action in pool.stateMachine.takeActions() {
            switch action {
            case .connect(let number): pool.connections[number] = SimulatedPool.Connection()
            case .ping(let number): pool.stateMachine.recordPong(on: number)
            case .finish(let number), .close(let number):
                closeConnection(of: process, in: pool, connection: number)
            case .end(let ticket, let end):
                reportAnswer(of: process, in: pool, request: ticket, answer: PushAnswer(end))
            case .noLateAnswer(let ticket): giveUpAnswer(of: process, in: pool, request: ticket)
            }
        }
    }

    private func closeConnection(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32
    ) {
        guard let connection = pool.connections.removeValue(forKey: number) else { return }
        for stream in connection.streams {
            if stream.isReported {
                freeStream(of: process, in: pool, connection: number, request: stream.ticket)
            } else {
                if !stream.hasArrived, occurs(percent: 50), let request = pool.requests[stream.ticket] {
                    recordProcessed(request.flight.job)
                }
                endRequest(of: process, in: pool, request: stream.ticket, with: .connectionLost)
            }
        }
        pool.stateMachine.handleClose(of: number, at: now)
        performPoolActions(of: process, in: pool)
    }

    private func advanceConnection(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32
    ) {
        guard let connection = pool.connections[number] else { return }
        guard connection.isOpen else {
            return tryToOpenConnection(of: process, in: pool, connection: number)
        }
        if !isCalm, occurs(percent: 3) { return closeConnection(of: process, in: pool, connection: number) }
        if !isCalm, occurs(percent: 3) { receiveGoaway(of: process, in: pool, connection: number) }
        for stream in pool.connections[number]?.streams ?? []
        where !isNetworkCut && !stream.hasArrived && occursOrIsCalm(percent: 70) {
            deliverRequest(of: process, in: pool, connection: number, request: stream.ticket)
        }
        for stream in pool.connections[number]?.streams ?? [] {
            receiveAnswer(of: process, in: pool, connection: number, stream: stream)
        }
    }

    /// Opens a connection, lets it fail, or leaves it waiting.
    private func tryToOpenConnection(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32
    ) {
        guard !isNetworkCut, occursOrIsCalm(percent: 50) else { return }
        if !isCalm, occurs(percent: 20) {
            return closeConnection(of: process, in: pool, connection: number)
        }
        pool.connections[number]?.isOpen = true
        pool.stateMachine.handleOpen(of: number, at: now)
        pool.stateMachine.applySettings(of: number, streamsMax: [1, 3, 100][random.number(below: 3)])
    }

    /// Receives a GOAWAY. APNs will not process the requests that have not arrived.
    private func receiveGoaway(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32
    ) {
        pool.stateMachine.handleGoaway(on: number, isEnhanceYourCalm: false, at: now)
        for stream in pool.connections[number]?.streams ?? [] where !stream.hasArrived && !stream.isReported {
            removeStream(in: pool, connection: number, request: stream.ticket)
            endRequest(of: process, in: pool, request: stream.ticket, with: .notProcessed)
        }
        performPoolActions(of: process, in: pool)
    }

    /// Lets a request arrive at APNs, and keeps the answers for later steps.
    private func deliverRequest(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32,
        request ticket: PoolTicket
    ) {
        guard let request = pool.requests[ticket], pool.connections[number] != nil,
            case .sent(let answer, let lateAnswer) = send(request.flight)
        else { return }
        if answer.end == .unknown(.connectionLost) {
            changeStream(in: pool, connection: number, request: ticket) { $0.hasArrived = true }
            return closeConnection(of: process, in: pool, connection: number)
        }
        changeStream(in: pool, connection: number, request: ticket) { stream in
            stream.hasArrived = true
            stream.answer = answer.end == .unknown(.overdue) ? nil : answer
            stream.lateAnswer = lateAnswer
        }
    }

    /// Reports an event of one stream to the pool: an answer, or that its time is over.
    private func receiveAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32,
        stream: SimulatedPool.Stream
    ) {
        guard pool.connections[number] != nil, let request = pool.requests[stream.ticket] else { return }
        if let answer = stream.isReported ? stream.lateAnswer ?? stream.answer : stream.answer,
            !isNetworkCut, answer.end != .unknown(.overdue), occursOrIsCalm(percent: 60)
        {
            return receive(answer, of: process, in: pool, connection: number, stream: stream)
        }
        if !stream.isReported, request.deadline <= now {
            changeStream(in: pool, connection: number, request: stream.ticket) { $0.isReported = true }
            endRequest(of: process, in: pool, request: stream.ticket, with: .overdue(hasLeft: true))
        } else if stream.isReported,
            now.milliseconds(since: request.deadline) >= pool.stateMachine.settings.lateAnswerMilliseconds
        {
            removeStream(in: pool, connection: number, request: stream.ticket)
            freeStream(of: process, in: pool, connection: number, request: stream.ticket)
        }
    }

    private func receive(
        _ answer: PushAnswer, of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32,
        stream: SimulatedPool.Stream
    ) {
        removeStream(in: pool, connection: number, request: stream.ticket)
        pool.stateMachine.recordRead(on: number, at: now)
        if case .notProcessed = answer.end {
            if stream.isReported {
                return freeStream(of: process, in: pool, connection: number, request: stream.ticket)
            }
            return endRequest(of: process, in: pool, request: stream.ticket, with: .refused)
        }
        let effect: ResponseEffect =
            switch answer.disposition {
            case .serverTrouble: .serverTrouble
            case .appMisconfigured, .requestFaulty: .nothing
            default: .authorizes
            }
        endRequest(of: process, in: pool, request: stream.ticket, with: .answered(effect), answer: answer)
    }

    private func changeStream(
        in pool: SimulatedPool, connection number: UInt32, request ticket: PoolTicket,
        body: (inout SimulatedPool.Stream) -> Void
    ) {
        guard let index = pool.connections[number]?.streams.firstIndex(where: { $0.ticket == ticket }),
            var stream = pool.connections[number]?.streams[index]
        else { return }
        body(&stream)
        pool.connections[number]?.streams[index] = stream
    }

    private func removeStream(in pool: SimulatedPool, connection number: UInt32, request ticket: PoolTicket) {
        pool.connections[number]?.streams.removeAll { $0.ticket == ticket }
    }

    // MARK: Ends

    /// Ends a request in the pool, and tells the plan what the pool reports.
    private func endRequest(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket,
        with outcome: PoolOutcome, answer: PushAnswer? = nil
    ) {
        switch pool.stateMachine.end(ticket, with: outcome, at: now) {
        case .ended(let end):
            // A late answer may follow.
            let isKept = end == .unknown(.overdue)
            reportAnswer(
                of: process, in: pool, request: ticket,
                answer: end == .answered ? answer ?? PushAnswer(end) : PushAnswer(end), isKept: isKept)
        case .lateAnswer:
            var lateAnswer = answer ?? PushAnswer(.answered)
            lateAnswer.isLate = true
            reportAnswer(of: process, in: pool, request: ticket, answer: lateAnswer)
        case .noLateAnswer: giveUpAnswer(of: process, in: pool, request: ticket)
        case .retry, .stale: break
        }
        performPoolActions(of: process, in: pool)
    }

    private func freeStream(
        of process: SimulatedProcess, in pool: SimulatedPool, connection number: UInt32,
        request ticket: PoolTicket
    ) {
        if pool.stateMachine.handleFreedStream(of: ticket, on: number) == .noLateAnswer {
            giveUpAnswer(of: process, in: pool, request: ticket)
        }
    }

    /// Tells the plan that no late answer will come.
    private func giveUpAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket
    ) {
        reportAnswer(
            of: process, in: pool, request: ticket, answer: PushAnswer(.unknown(.overdue), isLate: true))
    }

    /// Reports an answer to the plan as the worker does.
    ///
    /// - Parameter isKept: Whether a late answer may follow.
    private func reportAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket, answer: PushAnswer,
        isKept: Bool = false
    ) {
        guard let request = isKept ? pool.requests[ticket] : pool.requests.removeValue(forKey: ticket) else {
            return recordFault("a pool ends an unknown push")
        }
        if !isKept { process.pushesInFlight.removeAll { $0.tag == request.flight.tag } }
        endPush(of: process, flight: request.flight, by: answer)
    }
}
