import Lifecycle
import Simulation

@testable import APNs

/// The server's part of a `PoolWorld`: it reads requests, answers or misbehaves, and the client reads its messages.
extension PoolWorld {
    /// Returns the number of a random connection.
    private mutating func randomLink() -> UInt32? {
        let numbers = links.keys.sorted()
        return numbers.isEmpty ? nil : numbers[random.number(below: numbers.count)]
    }

    /// Completes a connection, or lets its requests reach the server. The server accepts, answers, holds or refuses
    /// them.
    mutating func serveRandomLink() {
        guard let number = randomLink(), var link = links[number] else { return }
        guard link.isOpen else { return completeHandshake(of: number) }
        // First the client sends its bytes.
        if isCalm { link.isClogged = false }
        let flushed = link.flush(at: now)
        if link.isFull, !link.isClogged { pool.handleDrain(of: number) }
        if !link.isClogged { link.isFull = false }
        let frames = link.toServer
        link.toServer = []
        links[number] = link
        reportClosed(flushed.closed, tooLate: flushed.tooLate, on: number)
        for frame in frames { handle(frame, on: number) }
        answerSomeRequests(on: number)
    }

    /// Answers a third of the requests that the server has accepted without an answer.
    private mutating func answerSomeRequests(on number: UInt32) {
        let unanswered = links[number]?.unanswered ?? []
        links[number]?.unanswered = []
        for frame in unanswered {
            if random.number(below: 3) == 0 {
                send(.answer(frame.stream, .authorizes), on: number)
            } else {
                links[number]?.unanswered.append(frame)
            }
        }
    }

    /// Reports the events that the session raised while it sent.
    private mutating func reportClosed(_ closed: [Int], tooLate: [Int], on number: UInt32) {
        for id in tooLate + closed {
            guard let stream = links[number]?.streams[id] else { continue }
            if !stream.isReported { report(.overdue(mayHaveBeenSent: false), of: stream.ticket, on: number) }
            links[number]?.forget(id)
            reportFreedStream(of: stream.ticket, on: number)
        }
    }

    private mutating func completeHandshake(of number: UInt32) {
        if isBlackHole { return }
        if !isCalm, random.number(below: 6) == 0 { return close(number) }
        links[number]?.isOpen = true
        links[number]?.toClient.append(.settings([1, 3, 100][random.number(below: 3)]))
        pool.handleOpen(of: number, at: now)
    }

    /// Lets the server accept, answer, refuse or reset a request, or stay silent.
    private mutating func handle(_ frame: PoolLink.Frame, on number: UInt32) {
        guard let link = links[number], frame.stream <= link.goawayLast else { return }
        if link.isDeaf {
            if random.number(below: 2) == 0 { accept(frame, on: link) }
            return
        }
        let choice = isCalm ? 0 : random.number(below: 13)
        switch choice {
        case 0...6:
            accept(frame, on: link)
            if !isCalm, random.number(below: 3) == 0 {
                links[number]?.unanswered.append(frame)
            } else {
                send(.answer(frame.stream, .authorizes), on: number)
            }
        case 7: send(.refuse(frame.stream), on: number)
        case 8:
            if random.number(below: 2) == 0 { accept(frame, on: link) }
            send(.reset(frame.stream, isEnhanceYourCalm: random.number(below: 2) == 0), on: number)
        case 9:
            let effects: [ResponseEffect] = [
                .nothing, .connectionUnusable, .tokenExpired(isRemade: true), .tokenExpired(isRemade: false),
                .tooManyTokens,
            ]
            send(.answer(frame.stream, effects[random.number(below: effects.count)]), on: number)
        case 10, 11: send(.answer(frame.stream, .serverTrouble), on: number)
        default: break
        }
    }

    private mutating func send(_ message: PoolLink.ServerMessage, on number: UInt32) {
        links[number]?.toClient.append(message)
    }

    /// Lets the server or the network of one connection do something unusual.
    mutating func misbehave() {
        guard !isCalm, let number = randomLink(), let link = links[number], link.isOpen else { return }
        switch random.number(below: 8) {
        case 0, 1: send(.settings([0, 1, 2, 7, 100][random.number(below: 5)]), on: number)
        case 2:
            guard link.goawayLast == .max else { return }
            // GOAWAY does not go below streams that the server has read, because they may be processed. Later
            // streams are ignored.
            let newestSent = link.streams.filter { $0.value.isSent }.keys.max() ?? 0
            let firstUnread = link.toServer.map(\.stream).min()
            let newestRead = firstUnread.map { $0 - 1 } ?? newestSent
            let lastStream = min(newestSent, newestRead)
            links[number]?.goawayLast = lastStream
            send(.goaway(last: lastStream, isEnhanceYourCalm: random.number(below: 4) == 0), on: number)
        case 3: links[number]?.isSilent = true
        case 4: links[number]?.isDeaf = true
        case 5, 6: links[number]?.isClogged.toggle()
        default: close(number)
        }
    }

    /// Lets the client read the server's messages on one connection.
    mutating func readRandomLink() {
        guard let number = randomLink() else { return }
        readMessages(on: number)
    }

    mutating func readMessages(on number: UInt32) {
        guard let messages = links[number]?.toClient, !messages.isEmpty else { return }
        links[number]?.toClient = []
        pool.recordRead(on: number, at: now)
        for message in messages where links[number] != nil { handle(message, on: number) }
    }

    private mutating func handle(_ message: PoolLink.ServerMessage, on number: UInt32) {
        switch message {
        case .settings(let streamsMax):
            links[number]?.knownStreamsMax = streamsMax
            if mutant == .ignoresSmallerSettings, let known = pool.index(of: number),
                pool.connections[known].streamsMax > streamsMax
            {
                return
            }
            pool.applySettings(of: number, streamsMax: streamsMax)
        case .goaway(let last, let isEnhanceYourCalm):
            handleGoaway(lastStream: last, isEnhanceYourCalm: isEnhanceYourCalm, on: number)
        case .pong: pool.recordPong(on: number)
        case .answer(let stream, let effect):
            if links[number]?.streams[stream] != nil { links[number]?.noteAnswer(effect, at: now) }
            finish(stream, with: .answered(effect), on: number)
        case .refuse(let stream):
            links[number]?.overdues = 0
            finish(stream, with: .refused, on: number)
        case .reset(let stream, let isEnhanceYourCalm):
            links[number]?.overdues = 0
            if isEnhanceYourCalm, links[number]?.streams[stream]?.isReported == false {
                links[number]?.noteEnhanceYourCalm(at: now)
            }
            finish(
                stream, with: .reset(isEnhanceYourCalm: isEnhanceYourCalm, mayHaveBeenSent: true), on: number)
        }
    }

    private mutating func handleGoaway(lastStream: Int, isEnhanceYourCalm: Bool, on number: UInt32) {
        links[number]?.hasReadGoaway = true
        if mutant != .ignoresGoaway {
            pool.handleGoaway(on: number, isEnhanceYourCalm: isEnhanceYourCalm, at: now)
        }
        let last = mutant == .ignoresLastStream ? 0 : lastStream
        let unprocessed = (links[number]?.streams ?? [:]).keys.filter { $0 > last }.sorted()
        for stream in unprocessed { finish(stream, with: .notProcessed, on: number) }
    }

    private mutating func finish(_ id: Int, with outcome: PoolOutcome, on number: UInt32) {
        guard let stream = links[number]?.streams[id] else { return }
        links[number]?.forget(id)
        if stream.isReported, !outcome.isAnswer { return reportFreedStream(of: stream.ticket, on: number) }
        report(outcome, of: stream.ticket, on: number)
    }
}

extension PoolOutcome {
    fileprivate var isAnswer: Bool { if case .answered = self { true } else { false } }
}
