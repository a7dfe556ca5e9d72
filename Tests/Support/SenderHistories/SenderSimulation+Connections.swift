internal import APNs
internal import Lifecycle
internal import Sender
internal import Simulation

// The simulated connections of the production's pools. Connections open, fail, break and get a GOAWAY at random times.
// Requests travel to APNs, and answers travel back.
extension SenderSimulation {
    /// The numbers of streams that a simulated APNs may allow on a connection.
    private static let streamLimits = [1, 3, 100]

    /// Carries out the actions of the pool's state machine.
    func performPoolActions(of process: SimulatedProcess, in pool: SimulatedPool) {
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

    /// Closes a connection. Each request on it has arrived or not, and its outcome is unknown.
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

    /// Lets a connection open, break or get a GOAWAY, and lets requests and answers arrive on it.
    func advanceConnection(
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
        pool.stateMachine.applySettings(
            of: number, streamsMax: Self.streamLimits[random.number(below: Self.streamLimits.count)])
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
        // An answer that is on its way at the deadline comes late too.
        let nextAnswer = stream.isReported ? (stream.lateAnswer ?? stream.answer) : stream.answer
        if let nextAnswer, !isNetworkCut, nextAnswer.end != .unknown(.overdue), occursOrIsCalm(percent: 60) {
            return receive(nextAnswer, of: process, in: pool, connection: number, stream: stream)
        }
        if !stream.isReported, request.deadline <= now {
            changeStream(in: pool, connection: number, request: stream.ticket) { $0.isReported = true }
            endRequest(of: process, in: pool, request: stream.ticket, with: .overdue(mayHaveBeenSent: true))
        } else if stream.isReported,
            now.milliseconds(since: request.deadline) >= pool.stateMachine.settings.lateAnswerMilliseconds
        {
            removeStream(in: pool, connection: number, request: stream.ticket)
            freeStream(of: process, in: pool, connection: number, request: stream.ticket)
        }
    }

    /// Removes the stream of an answer, and ends its request in the pool.
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
}
