internal import APNs
internal import Lifecycle
internal import Sender
internal import Simulation

// The joined world. The real pools stand between a plan and APNs, so that events pass between them in every
// order. Only the network is simulated.
extension SenderSimulation {
    private static let answerMilliseconds = 5_000

    func pool(of process: SimulatedProcess, app: String, isSuspect: Bool) -> SimulatedPool {
        let name = SimulatedPoolKey(app: app, isSuspect: isSuspect)
        if let known = process.pools[name] { return known }
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.number(below: 2)
        settings.streamsPerConnectionMax = 1 + random.number(below: 4)
        settings.waitingMax = 1 + random.number(below: 3)
        settings.requestsMax = settings.waitingMax + 1 + random.number(below: 6)
        settings.lateAnswerMilliseconds = 2_000
        settings.consecutiveOverduesMax = 1 + random.number(below: 4)
        settings.backoffMilliseconds = 100...500
        let made = SimulatedPool(settings: settings, seed: random.next())
        process.pools[name] = made
        return made
    }

    func submitPush(
        of process: SimulatedProcess, flight: SimulatedProcess.PushInFlight, app: String, isSuspect: Bool
    ) {
        let line = pool(of: process, app: app, isSuspect: isSuspect)
        let deadline = now.advanced(byMilliseconds: Self.answerMilliseconds)
        do {
            let ticket = try line.stateMachine.submit(sendBy: min(flight.sendBy, deadline), at: now)
            line.requests[ticket] = SimulatedPool.Request(flight: flight, deadline: deadline)
            process.pushesInFlight.append(flight)
        } catch {
            let fault: PushFault = error == .stopped ? .stopped : .noConnection
            process.plan.ended(flight.tag, as: PushAnswer(.notProcessed(fault)), at: time)
        }
    }

    /// Withdraws all pushes that have not left.
    func withdrawAll(of process: SimulatedProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            for ticket in line.stateMachine.takeWaiting() {
                reportAnswer(of: process, in: line, request: ticket, answer: PushAnswer(.withdrawn))
            }
        }
    }

    func advancePools(of process: SimulatedProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            line.stateMachine.tick(at: now) { line.budget.take(for: 1, request: $0, at: now) }
            performPoolActions(of: process, in: line)
            for number in line.connections.keys.sorted() {
                advanceConnection(of: process, in: line, connection: number)
            }
            while let next = line.stateMachine.nextSend(at: now) {
                performPoolActions(of: process, in: line)
                line.connections[next.connection]?.streams.append(SimulatedPool.Stream(ticket: next.ticket))
            }
            performPoolActions(of: process, in: line)
        }
    }

    /// Handles a SIGKILL. Requests on the wire may still arrive.
    func deliverRequests(ofKilled process: SimulatedProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            for link in line.connections.values {
                for stream in link.streams where !stream.hasArrived && occurs(percent: 50) {
                    if let request = line.requests[stream.ticket] { recordProcessed(request.flight.job) }
                }
            }
        }
    }

    // MARK: Connections

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
        guard let link = pool.connections.removeValue(forKey: number) else { return }
        for stream in link.streams {
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
        guard let link = pool.connections[number] else { return }
        guard link.isOpen else {
            guard !isNetworkCut, occursOrIsCalm(percent: 50) else { return }
            if !isCalm, occurs(percent: 20) {
                return closeConnection(of: process, in: pool, connection: number)
            }
            pool.connections[number]?.isOpen = true
            pool.stateMachine.handleOpen(of: number, at: now)
            return pool.stateMachine.applySettings(
                of: number, streamsMax: [1, 3, 100][random.number(below: 3)])
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

    private func deliverRequest(
        of process: SimulatedProcess, in line: SimulatedPool, connection number: UInt32,
        request ticket: PoolTicket
    ) {
        guard let request = line.requests[ticket], line.connections[number] != nil,
            case .sent(let answer, let late) = send(request.flight)
        else { return }
        if answer.end == .unknown(.connectionLost) {
            changeStream(in: line, connection: number, request: ticket) { $0.hasArrived = true }
            return closeConnection(of: process, in: line, connection: number)
        }
        changeStream(in: line, connection: number, request: ticket) { stream in
            stream.hasArrived = true
            stream.answer = answer.end == .unknown(.overdue) ? nil : answer
            stream.lateAnswer = late
        }
    }

    /// Reports an event of one stream to the pool: an answer, or that its time is over.
    private func receiveAnswer(
        of process: SimulatedProcess, in line: SimulatedPool, connection number: UInt32,
        stream: SimulatedPool.Stream
    ) {
        guard line.connections[number] != nil, let request = line.requests[stream.ticket] else { return }
        if let answer = stream.isReported ? stream.lateAnswer ?? stream.answer : stream.answer,
            !isNetworkCut, answer.end != .unknown(.overdue), occursOrIsCalm(percent: 60)
        {
            removeStream(in: line, connection: number, request: stream.ticket)
            line.stateMachine.recordRead(on: number, at: now)
            if case .notProcessed = answer.end {
                if stream.isReported {
                    return freeStream(of: process, in: line, connection: number, request: stream.ticket)
                }
                return endRequest(of: process, in: line, request: stream.ticket, with: .refused)
            }
            let effect: ResponseEffect =
                switch answer.disposition {
                case .serverTrouble: .serverTrouble
                case .appMisconfigured, .requestFaulty: .nothing
                default: .authorizes
                }
            return endRequest(
                of: process, in: line, request: stream.ticket, with: .answered(effect), answer: answer)
        }
        if !stream.isReported, request.deadline <= now {
            changeStream(in: line, connection: number, request: stream.ticket) { $0.isReported = true }
            endRequest(of: process, in: line, request: stream.ticket, with: .overdue(hasLeft: true))
        } else if stream.isReported,
            now.milliseconds(since: request.deadline) >= line.stateMachine.settings.lateAnswerMilliseconds
        {
            removeStream(in: line, connection: number, request: stream.ticket)
            freeStream(of: process, in: line, connection: number, request: stream.ticket)
        }
    }

    private func changeStream(
        in line: SimulatedPool, connection number: UInt32, request ticket: PoolTicket,
        body: (inout SimulatedPool.Stream) -> Void
    ) {
        guard let index = line.connections[number]?.streams.firstIndex(where: { $0.ticket == ticket }),
            var stream = line.connections[number]?.streams[index]
        else { return }
        body(&stream)
        line.connections[number]?.streams[index] = stream
    }

    private func removeStream(in pool: SimulatedPool, connection number: UInt32, request ticket: PoolTicket) {
        pool.connections[number]?.streams.removeAll { $0.ticket == ticket }
    }

    // MARK: Ends

    private func endRequest(
        of process: SimulatedProcess, in line: SimulatedPool, request ticket: PoolTicket,
        with outcome: PoolOutcome,
        answer: PushAnswer? = nil
    ) {
        switch line.stateMachine.end(ticket, with: outcome, at: now) {
        case .ended(let end):
            let isKept = end == .unknown(.overdue)
            reportAnswer(
                of: process, in: line, request: ticket,
                answer: end == .answered ? answer ?? PushAnswer(end) : PushAnswer(end), isKept: isKept)
        case .lateAnswer:
            var late = answer ?? PushAnswer(.answered)
            late.isLate = true
            reportAnswer(of: process, in: line, request: ticket, answer: late)
        case .noLateAnswer: giveUpAnswer(of: process, in: line, request: ticket)
        case .retry, .stale: break
        }
        performPoolActions(of: process, in: line)
    }

    private func freeStream(
        of process: SimulatedProcess, in line: SimulatedPool, connection number: UInt32,
        request ticket: PoolTicket
    ) {
        if line.stateMachine.handleFreedStream(of: ticket, on: number) == .noLateAnswer {
            giveUpAnswer(of: process, in: line, request: ticket)
        }
    }

    private func giveUpAnswer(
        of process: SimulatedProcess, in pool: SimulatedPool, request ticket: PoolTicket
    ) {
        reportAnswer(
            of: process, in: pool, request: ticket, answer: PushAnswer(.unknown(.overdue), isLate: true))
    }

    /// Reports an answer to the plan as the worker does.
    private func reportAnswer(
        of process: SimulatedProcess, in line: SimulatedPool, request ticket: PoolTicket, answer: PushAnswer,
        isKept: Bool = false
    ) {
        guard let request = isKept ? line.requests[ticket] : line.requests.removeValue(forKey: ticket) else {
            return recordFault("a pool ends an unknown push")
        }
        if !isKept { process.pushesInFlight.removeAll { $0.tag == request.flight.tag } }
        endPush(of: process, flight: request.flight, by: answer)
    }
}
