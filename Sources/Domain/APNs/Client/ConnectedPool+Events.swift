internal import HTTP2
internal import JSON
internal import Lifecycle
internal import TLS
internal import Telemetry

/// Events from the connections of a pool.
extension ConnectedPool {
    private var now: Instant { client.loop.now }

    func connected(_ connection: PushConnection) {
        client.provider.metrics.connected("open")
        client.provider.metrics.connections.add(1)
        pool.connected(connection.number, at: now)
        act()
        flush()
    }

    func received(_ connection: PushConnection) {
        pool.read(connection.number, at: now)
        if !connection.session.events.isEmpty { takeEvents(of: connection) }
        takeOutcomes(of: connection)
        act()
        flush()
    }

    /// Handles a connection that was full and has sent enough to take more.
    func drained(_ connection: PushConnection) {
        pool.drained(connection.number)
        if pool.isWorkWaiting { wantsFlush() }
    }

    private func takeEvents(of connection: PushConnection) {
        let events = connection.session.takeEvents()
        if let settings = events.settings {
            pool.settings(connection.number, streamsMax: Int(settings.concurrentStreamsMax))
        }
        if events.pong != nil { pool.pong(connection.number) }
        if let goaway = events.goaway {
            client.provider.metrics.goaway(goaway.code.description)
            client.provider.log.info(
                "apns closes a connection with goaway", .field("host", key.endpoint.host),
                .field("code", goaway.code.description),
                .field("reason", String(decoding: goaway.debug, as: UTF8.self)))
            pool.goaway(connection.number, isCalm: goaway.code == .enhanceYourCalm, at: now)
        }
        if let failure = events.failure {
            client.provider.log.warning(
                "session with apns failed", .field("host", key.endpoint.host), .field("reason", failure))
            pool.goaway(connection.number, isCalm: false, at: now)
        }
    }

    func closed(_ connection: PushConnection, _ reason: TLSCloseReason) {
        takeOutcomes(of: connection)
        connections.removeAll { $0 === connection }
        if connection.isEstablished {
            client.provider.metrics.connections.add(-1)
        } else {
            failed(reason)
        }
        pool.closed(connection.number, at: now)
        act()
        flush()
        client.wantsGrowth(self)
    }

    private func failed(_ reason: TLSCloseReason) {
        if case .closedHere = reason { return client.provider.metrics.connected("given_up") }
        trouble = reason.description
        if case .refused = reason {
            client.provider.metrics.connected("refused")
            client.provider.log.error(
                "apns endpoint is not trusted and nothing was sent; correct the cause in the reason field",
                .field("endpoint", key.endpoint.description), .field("reason", reason.description))
        } else {
            client.provider.metrics.connected("failed")
            client.provider.log.warning(
                "cannot connect to apns", .field("endpoint", key.endpoint.description),
                .field("reason", reason.description))
        }
    }

    // MARK: Outcomes

    func takeOutcomes(of connection: PushConnection) {
        guard connection.session.hasOutcomes else { return }
        let batch = connection.session.outcomes
        for outcome in batch.outcomes { take(outcome, batch, on: connection) }
        connection.session.clearOutcomes()
    }

    private func take(
        _ outcome: RequestOutcome, _ batch: OutcomeBatch, on connection: PushConnection
    ) {
        let ticket = PoolTicket(tag: outcome.tag)
        guard outcome.end == .answered else { return takeUnanswered(ticket, outcome, on: connection) }
        if outcome.status == 200, outcome.fields.isEmpty, outcome.body.isEmpty {
            return takeAccepted(ticket, outcome, on: connection)
        }
        let details = PushDetails(outcome, batch, with: client.reader)
        let verdict = pool.ended(ticket, .answered(effect(of: details, ticket)), at: now)
        switch verdict {
        case .ended, .late: client.answered(in: self, Int(ticket.index), details, isLate: verdict == .late)
        case .again:
            client.provider.metrics.refused(details.answer)
            client.provider.metrics.again.add()
        case .lateOver: break
        case .stale: takeStale(ticket, outcome, on: connection)
        }
    }

    /// Handles an answer to a push that ended before it was fully sent. The answer has closed its stream.
    private func takeStale(
        _ ticket: PoolTicket, _ outcome: RequestOutcome, on connection: PushConnection
    ) {
        if outcome.isLate { _ = pool.freed(ticket, on: connection.number) }
    }

    private func takeAccepted(
        _ ticket: PoolTicket, _ outcome: RequestOutcome, on connection: PushConnection
    ) {
        switch pool.ended(ticket, .answered(.authorises), at: now) {
        case .ended: client.accepted(in: self, Int(ticket.index), isLate: false)
        case .late: client.accepted(in: self, Int(ticket.index), isLate: true)
        case .stale: takeStale(ticket, outcome, on: connection)
        case .again, .lateOver: break
        }
        if trouble != nil { trouble = nil }
    }

    private func takeUnanswered(
        _ ticket: PoolTicket, _ outcome: RequestOutcome, on connection: PushConnection
    ) {
        if outcome.end == .reset || outcome.end == .refused {
            client.provider.metrics.reset(
                outcome.end == .refused ? "REFUSED_STREAM" : outcome.code.description)
        }
        let verdict =
            switch outcome.end {
            case .notProcessed, .answered: pool.ended(ticket, .notProcessed, at: now)
            case .refused: pool.ended(ticket, .refused, at: now)
            case .reset:
                pool.ended(
                    ticket,
                    .reset(isCalm: outcome.code == .enhanceYourCalm, hasLeft: outcome.hasLeft), at: now)
            case .connectionLost: pool.ended(ticket, .connectionLost, at: now)
            case .overdue: pool.ended(ticket, .overdue(hasLeft: outcome.hasLeft), at: now)
            case .cancelled: pool.ended(ticket, .withdrawn, at: now)
            case .released: pool.freed(ticket, on: connection.number)
            }
        switch verdict {
        case .ended(let end): client.ended(in: self, Int(ticket.index), end)
        case .lateOver: client.lateOver(in: self, Int(ticket.index))
        case .again: client.provider.metrics.again.add()
        case .late, .stale: break
        }
    }

    private func bearerRevision(of ticket: PoolTicket) -> Int {
        unsafe parcels[Int(ticket.index)].pointee.bearerRevision
    }

    /// Returns the effect of an answer on the connection and the provider token.
    private func effect(of details: PushDetails, _ ticket: PoolTicket) -> AnswerEffect {
        switch details.answer.disposition {
        case .accepted, .tokenGone, .tokenSuspect, .tokenThrottled, .channelGone, .channelLimit:
            trouble = nil
            return .authorises
        case .connectionOver: return .connectionOver
        case .providerTokenExpired:
            guard pool.isCurrent(ticket) else { return .nothing }
            let isRemade = client.provider.tokens.expired(
                key.profile.key, revision: bearerRevision(of: ticket), at: now)
            refreshBearer()
            return .tokenExpired(isRemade: isRemade)
        case .providerTokenTooMany:
            guard pool.isCurrent(ticket) else { return .nothing }
            let isNews = client.provider.tokens.tooMany(
                key.profile.key, revision: bearerRevision(of: ticket), at: now)
            if isNews {
                client.provider.log.error(
                    "apns reports too many provider tokens; find the other process that uses this key",
                    .field("key", key.profile.key.description))
            }
            refreshBearer()
            return .tokenTooMany
        case .serverTrouble: return .serverTrouble
        case .appMisconfigured, .requestFaulty: return .nothing
        }
    }
}

extension PushDetails {
    fileprivate init(_ outcome: RequestOutcome, _ batch: OutcomeBatch, with reader: JSONReader) {
        let fields = batch.fields(of: outcome)
        let text = { (value: ArraySlice<UInt8>?) in value.map { String(decoding: $0, as: UTF8.self) } }
        let retryAfter = text(fields["retry-after"]).flatMap { Int($0) }
        self.init(
            answer: Answer(
                status: Int(outcome.status), body: outcome.bodyIsCut ? [] : batch.body(of: outcome),
                with: reader),
            retryAfterSeconds: retryAfter.flatMap { (0...86_400).contains($0) ? $0 : nil },
            uniqueID: text(fields["apns-unique-id"]), channelID: text(fields["apns-channel-id"]),
            body: Array(batch.body(of: outcome)))
    }
}
