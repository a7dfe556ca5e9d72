import Lifecycle
import Simulation

@testable import APNs

/// The behavior of the server in a `PoolWorld`, and how the client learns of it.
extension PoolWorld {
    private mutating func pick() -> UInt32? {
        let numbers = links.keys.sorted()
        return numbers.isEmpty ? nil : numbers[random.number(below: numbers.count)]
    }

    /// Completes connections, and lets requests reach the server. The server accepts, answers, holds or
    /// refuses them.
    mutating func arrive() {
        guard let number = pick(), var link = links[number] else { return }
        guard link.isOpen else { return handshake(number) }
        if isCalm { link.isClogged = false }
        let flushed = link.flush(at: now)
        if link.isFull, !link.isClogged { pool.handleDrain(of: number) }
        if !link.isClogged { link.isFull = false }
        let frames = link.toServer
        link.toServer = []
        links[number] = link
        close(flushed.closed, tooLate: flushed.tooLate, number)
        for frame in frames { take(frame, number) }
        let held = links[number]?.held ?? []
        links[number]?.held = []
        for frame in held {
            if random.number(below: 3) == 0 {
                answer(frame, number)
            } else {
                links[number]?.held.append(frame)
            }
        }
    }

    /// Reports the events that the session raised while it sent.
    private mutating func close(_ closed: [Int], tooLate: [Int], _ number: UInt32) {
        for id in tooLate + closed {
            guard let stream = links[number]?.streams[id] else { continue }
            if !stream.isReported { outcome(number, stream.ticket, .overdue(hasLeft: false)) }
            links[number]?.forget(id)
            freed(number, stream.ticket)
        }
    }

    private mutating func handshake(_ number: UInt32) {
        if isBlackHole { return }
        if !isCalm, random.number(below: 6) == 0 { return close(number) }
        links[number]?.isOpen = true
        links[number]?.toClient.append(.settings([1, 3, 100][random.number(below: 3)]))
        pool.handleOpen(of: number, at: now)
    }

    private mutating func take(_ frame: PoolLink.Frame, _ number: UInt32) {
        guard let link = links[number], frame.stream <= link.goawayLast else { return }
        if link.isDeaf {
            if random.number(below: 2) == 0 { accept(frame, link) }
            return
        }
        let choice = isCalm ? 0 : random.number(below: 13)
        switch choice {
        case 0...6:
            accept(frame, link)
            if !isCalm, random.number(below: 3) == 0 {
                links[number]?.held.append(frame)
            } else {
                say(number, .answer(frame.stream, .authorizes))
            }
        case 7: say(number, .refuse(frame.stream))
        case 8:
            if random.number(below: 2) == 0 { accept(frame, link) }
            say(number, .reset(frame.stream, isCalm: random.number(below: 2) == 0))
        case 9:
            let effects: [ResponseEffect] = [
                .nothing, .connectionUnusable, .tokenExpired(isRemade: true), .tokenExpired(isRemade: false),
                .tooManyTokens,
            ]
            say(number, .answer(frame.stream, effects[random.number(below: effects.count)]))
        case 10, 11: say(number, .answer(frame.stream, .serverTrouble))
        default: break
        }
    }

    private mutating func answer(_ frame: PoolLink.Frame, _ number: UInt32) {
        say(number, .answer(frame.stream, .authorizes))
    }

    private mutating func say(_ number: UInt32, _ word: PoolLink.Word) {
        links[number]?.toClient.append(word)
    }

    mutating func misbehave() {
        guard !isCalm, let number = pick(), let link = links[number], link.isOpen else { return }
        switch random.number(below: 8) {
        case 0, 1: say(number, .settings([0, 1, 2, 7, 100][random.number(below: 5)]))
        case 2:
            guard link.goawayLast == .max else { return }
            // GOAWAY does not go below streams that the server has read, because they may be processed. Later
            // streams are ignored.
            let read = link.streams.filter { $0.value.hasLeft }.keys.max() ?? 0
            let unread = link.toServer.map(\.stream).min().map { $0 - 1 } ?? read
            links[number]?.goawayLast = min(read, unread)
            say(number, .goaway(last: min(read, unread), isCalm: random.number(below: 4) == 0))
        case 3: links[number]?.isSilent = true
        case 4: links[number]?.isDeaf = true
        case 5, 6: links[number]?.isClogged.toggle()
        default: close(number)
        }
    }

    /// Lets the client read the server's messages.
    mutating func hear() {
        guard let number = pick() else { return }
        hear(number)
    }

    mutating func hear(_ number: UInt32) {
        guard let words = links[number]?.toClient, !words.isEmpty else { return }
        links[number]?.toClient = []
        pool.recordRead(on: number, at: now)
        for word in words where links[number] != nil { hear(word, number) }
    }

    private mutating func hear(_ word: PoolLink.Word, _ number: UInt32) {
        switch word {
        case .settings(let most):
            links[number]?.toldMax = most
            if mutant == .ignoresSmallerSettings, let known = pool.index(of: number),
                pool.connections[known].streamsMax > most
            {
                return
            }
            pool.applySettings(of: number, streamsMax: most)
        case .goaway(let last, let isCalm): hearGoaway(number, last, isCalm)
        case .pong: pool.recordPong(on: number)
        case .answer(let stream, let effect):
            if links[number]?.streams[stream] != nil { links[number]?.heardAnswer(effect, at: now) }
            finish(number, stream, .answered(effect))
        case .refuse(let stream):
            links[number]?.overdues = 0
            finish(number, stream, .refused)
        case .reset(let stream, let isCalm):
            links[number]?.overdues = 0
            if isCalm, links[number]?.streams[stream]?.isReported == false {
                links[number]?.heardCalm(at: now)
            }
            finish(number, stream, .reset(isCalm: isCalm, hasLeft: true))
        }
    }

    private mutating func hearGoaway(_ number: UInt32, _ last: Int, _ isCalm: Bool) {
        links[number]?.isGoawayTold = true
        if mutant != .ignoresGoaway { pool.handleGoaway(on: number, isEnhanceYourCalm: isCalm, at: now) }
        let last = mutant == .ignoresLastStream ? 0 : last
        let above = (links[number]?.streams ?? [:]).keys.filter { $0 > last }.sorted()
        for stream in above { finish(number, stream, .notProcessed) }
    }

    private mutating func finish(_ number: UInt32, _ id: Int, _ outcome: PoolOutcome) {
        guard let stream = links[number]?.streams[id] else { return }
        links[number]?.forget(id)
        if stream.isReported, !outcome.isAnswer { return freed(number, stream.ticket) }
        self.outcome(number, stream.ticket, outcome)
    }
}

extension PoolOutcome {
    fileprivate var isAnswer: Bool { if case .answered = self { true } else { false } }
}
