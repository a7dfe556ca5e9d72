internal import APNs
internal import Lifecycle
internal import Sender
internal import Simulation

// The joined world. The real pools stand between a plan and APNs, so that events pass between them in every
// order. Only the network is simulated.
extension SenderWorld {
    private static let answerMilliseconds = 5_000

    func pool(_ process: WorldProcess, _ app: String, isSuspect: Bool) -> WorldPool {
        let name = WorldPoolName(app: app, isSuspect: isSuspect)
        if let known = process.pools[name] { return known }
        var settings = PoolSettings()
        settings.connectionsMax = 1 + random.below(2)
        settings.streamsPerConnectionMax = 1 + random.below(4)
        settings.waitingMax = 1 + random.below(3)
        settings.requestsMax = settings.waitingMax + 1 + random.below(6)
        settings.lateAnswerMilliseconds = 2_000
        settings.consecutiveOverduesMax = 1 + random.below(4)
        settings.backoffMilliseconds = 100...500
        let made = WorldPool(settings, seed: random.next())
        process.pools[name] = made
        return made
    }

    func push(_ process: WorldProcess, _ flight: WorldProcess.Flight, app: String, isSuspect: Bool) {
        let line = pool(process, app, isSuspect: isSuspect)
        let deadline = now.advanced(byMilliseconds: Self.answerMilliseconds)
        do {
            let ticket = try line.pool.submit(sendBy: min(flight.leaveBy, deadline), at: now)
            line.requests[ticket] = WorldPool.Request(flight: flight, deadline: deadline)
            process.flights.append(flight)
        } catch {
            let fault: PushFault = error == .stopped ? .stopped : .noConnection
            process.plan.ended(flight.tag, as: PushAnswer(.notProcessed(fault)), at: time)
        }
    }

    /// Withdraws all pushes that have not left.
    func withdrawAll(_ process: WorldProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            for ticket in line.pool.takeWaiting() {
                tell(process, line, request: ticket, answer: PushAnswer(.withdrawn))
            }
        }
    }

    func livePools(_ process: WorldProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            line.pool.tick(at: now) { line.budget.take(for: 1, request: $0, at: now) }
            act(process, line)
            for number in line.links.keys.sorted() { live(process, line, connection: number) }
            while let next = line.pool.nextSend(at: now) {
                act(process, line)
                line.links[next.connection]?.streams.append(WorldPool.Stream(ticket: next.ticket))
            }
            act(process, line)
        }
    }

    /// Handles a SIGKILL. Requests on the wire may still arrive.
    func die(_ process: WorldProcess) {
        for (_, line) in process.pools.sorted(by: { $0.key < $1.key }) {
            for link in line.links.values {
                for stream in link.streams where !stream.hasArrived && chance(50) {
                    if let request = line.requests[stream.ticket] { processed(request.flight.job) }
                }
            }
        }
    }

    // MARK: Connections

    private func act(_ process: WorldProcess, _ line: WorldPool) {
        for action in line.pool.takeActions() {
            switch action {
            case .connect(let number): line.links[number] = WorldPool.Link()
            case .ping(let number): line.pool.recordPong(on: number)
            case .finish(let number), .close(let number): close(process, line, connection: number)
            case .end(let ticket, let end): tell(process, line, request: ticket, answer: PushAnswer(end))
            case .noLateAnswer(let ticket): overdue(process, line, request: ticket)
            }
        }
    }

    private func close(_ process: WorldProcess, _ line: WorldPool, connection number: UInt32) {
        guard let link = line.links.removeValue(forKey: number) else { return }
        for stream in link.streams {
            if stream.isReported {
                freed(process, line, connection: number, request: stream.ticket)
            } else {
                if !stream.hasArrived, chance(50), let request = line.requests[stream.ticket] {
                    processed(request.flight.job)
                }
                outcome(process, line, request: stream.ticket, is: .connectionLost)
            }
        }
        line.pool.handleClose(of: number, at: now)
        act(process, line)
    }

    private func live(_ process: WorldProcess, _ line: WorldPool, connection number: UInt32) {
        guard let link = line.links[number] else { return }
        guard link.isOpen else {
            guard !isCut, likely(50) else { return }
            if !isCalm, chance(20) { return close(process, line, connection: number) }
            line.links[number]?.isOpen = true
            line.pool.handleOpen(of: number, at: now)
            return line.pool.applySettings(of: number, streamsMax: [1, 3, 100][random.below(3)])
        }
        if !isCalm, chance(3) { return close(process, line, connection: number) }
        if !isCalm, chance(3) { goaway(process, line, connection: number) }
        for stream in line.links[number]?.streams ?? [] where !isCut && !stream.hasArrived && likely(70) {
            arrive(process, line, connection: number, request: stream.ticket)
        }
        for stream in line.links[number]?.streams ?? [] {
            hear(process, line, connection: number, stream: stream)
        }
    }

    private func goaway(_ process: WorldProcess, _ line: WorldPool, connection number: UInt32) {
        line.pool.handleGoaway(on: number, isEnhanceYourCalm: false, at: now)
        for stream in line.links[number]?.streams ?? [] where !stream.hasArrived && !stream.isReported {
            forget(line, connection: number, request: stream.ticket)
            outcome(process, line, request: stream.ticket, is: .notProcessed)
        }
        act(process, line)
    }

    private func arrive(
        _ process: WorldProcess, _ line: WorldPool, connection number: UInt32, request ticket: PoolTicket
    ) {
        guard let request = line.requests[ticket], line.links[number] != nil,
            case .sent(let answer, let late) = send(request.flight)
        else { return }
        if answer.end == .unknown(.connectionLost) {
            change(line, connection: number, request: ticket) { $0.hasArrived = true }
            return close(process, line, connection: number)
        }
        change(line, connection: number, request: ticket) { stream in
            stream.hasArrived = true
            stream.answer = answer.end == .unknown(.overdue) ? nil : answer
            stream.late = late
        }
    }

    /// Reports an event of one stream to the pool: an answer, or that its time is over.
    private func hear(
        _ process: WorldProcess, _ line: WorldPool, connection number: UInt32, stream: WorldPool.Stream
    ) {
        guard line.links[number] != nil, let request = line.requests[stream.ticket] else { return }
        if let answer = stream.isReported ? stream.late ?? stream.answer : stream.answer,
            !isCut, answer.end != .unknown(.overdue), likely(60)
        {
            forget(line, connection: number, request: stream.ticket)
            line.pool.recordRead(on: number, at: now)
            if case .notProcessed = answer.end {
                if stream.isReported {
                    return freed(process, line, connection: number, request: stream.ticket)
                }
                return outcome(process, line, request: stream.ticket, is: .refused)
            }
            let effect: ResponseEffect =
                switch answer.disposition {
                case .serverTrouble: .serverTrouble
                case .appMisconfigured, .requestFaulty: .nothing
                default: .authorizes
                }
            return outcome(process, line, request: stream.ticket, is: .answered(effect), answer: answer)
        }
        if !stream.isReported, request.deadline <= now {
            change(line, connection: number, request: stream.ticket) { $0.isReported = true }
            outcome(process, line, request: stream.ticket, is: .overdue(hasLeft: true))
        } else if stream.isReported,
            now.milliseconds(since: request.deadline) >= line.pool.settings.lateAnswerMilliseconds
        {
            forget(line, connection: number, request: stream.ticket)
            freed(process, line, connection: number, request: stream.ticket)
        }
    }

    private func change(
        _ line: WorldPool, connection number: UInt32, request ticket: PoolTicket,
        _ body: (inout WorldPool.Stream) -> Void
    ) {
        guard let index = line.links[number]?.streams.firstIndex(where: { $0.ticket == ticket }),
            var stream = line.links[number]?.streams[index]
        else { return }
        body(&stream)
        line.links[number]?.streams[index] = stream
    }

    private func forget(_ line: WorldPool, connection number: UInt32, request ticket: PoolTicket) {
        line.links[number]?.streams.removeAll { $0.ticket == ticket }
    }

    // MARK: Ends

    private func outcome(
        _ process: WorldProcess, _ line: WorldPool, request ticket: PoolTicket, is outcome: PoolOutcome,
        answer: PushAnswer? = nil
    ) {
        switch line.pool.end(ticket, with: outcome, at: now) {
        case .ended(let end):
            let isKept = end == .unknown(.overdue)
            tell(
                process, line, request: ticket,
                answer: end == .answered ? answer ?? PushAnswer(end) : PushAnswer(end), isKept: isKept)
        case .lateAnswer:
            var late = answer ?? PushAnswer(.answered)
            late.isLate = true
            tell(process, line, request: ticket, answer: late)
        case .noLateAnswer: overdue(process, line, request: ticket)
        case .retry, .stale: break
        }
        act(process, line)
    }

    private func freed(
        _ process: WorldProcess, _ line: WorldPool, connection number: UInt32, request ticket: PoolTicket
    ) {
        if line.pool.handleFreedStream(of: ticket, on: number) == .noLateAnswer {
            overdue(process, line, request: ticket)
        }
    }

    private func overdue(_ process: WorldProcess, _ line: WorldPool, request ticket: PoolTicket) {
        tell(process, line, request: ticket, answer: PushAnswer(.unknown(.overdue), isLate: true))
    }

    /// Reports an answer to the plan as the worker does.
    private func tell(
        _ process: WorldProcess, _ line: WorldPool, request ticket: PoolTicket, answer: PushAnswer,
        isKept: Bool = false
    ) {
        guard let request = isKept ? line.requests[ticket] : line.requests.removeValue(forKey: ticket) else {
            return fault("a pool ends an unknown push")
        }
        if !isKept { process.flights.removeAll { $0.tag == request.flight.tag } }
        end(process, request.flight, by: answer)
    }
}
