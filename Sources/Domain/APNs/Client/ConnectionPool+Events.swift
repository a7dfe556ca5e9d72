internal import HTTP2
internal import JSON
internal import Lifecycle
internal import TLS
internal import Telemetry

/// The events of a pool's connections. Each is passed to the state machine. Then the state machine's actions
/// are carried out, and requests that can be sent now are sent.
extension ConnectionPool {
    private var now: Instant { client.loop.now }

    /// Handles a connection that has completed TLS.
    func handleOpen(of connection: PushConnection) {
        client.provider.metrics.countConnect(result: "open")
        client.provider.metrics.connections.add(1)
        stateMachine.handleOpen(of: connection.number, at: now)
        performActions()
        flush()
    }

    /// Handles bytes that a connection's session has received.
    func handleRead(on connection: PushConnection) {
        stateMachine.recordRead(on: connection.number, at: now)
        if !connection.session.events.isEmpty { handleEvents(of: connection) }
        handleOutcomes(of: connection)
        performActions()
        flush()
    }

    /// Handles a connection that was full and can take requests again.
    func handleDrain(of connection: PushConnection) {
        stateMachine.handleDrain(of: connection.number)
        if stateMachine.hasQueuedRequests { requestFlush() }
    }

    /// Handles SETTINGS, answers to PINGs, GOAWAY and errors of the session.
    private func handleEvents(of connection: PushConnection) {
        let events = connection.session.takeEvents()
        if let settings = events.settings {
            stateMachine.applySettings(of: connection.number, streamsMax: Int(settings.concurrentStreamsMax))
        }
        if events.pong != nil { stateMachine.recordPong(on: connection.number) }
        if let goaway = events.goaway {
            client.provider.metrics.countGoaway(code: goaway.code.description)
            client.provider.log.info(
                "apns closes a connection with goaway", .field("host", key.endpoint.host),
                .field("connections", key.purpose.name),
                .field("code", goaway.code.description),
                .field("reason", String(decoding: goaway.debug, as: UTF8.self)))
            stateMachine.handleGoaway(
                on: connection.number, isEnhanceYourCalm: goaway.code == .enhanceYourCalm, at: now)
        }
        if let failure = events.failure {
            client.provider.log.warning(
                "session with apns failed", .field("host", key.endpoint.host), .field("reason", failure))
            // As after GOAWAY, no new request can be sent over the connection.
            stateMachine.handleGoaway(on: connection.number, isEnhanceYourCalm: false, at: now)
        }
    }

    /// Handles a connection that was closed or could not be opened.
    func handleClose(of connection: PushConnection, reason: TLSCloseReason) {
        handleOutcomes(of: connection)
        connections.removeAll { $0 === connection }
        if connection.isEstablished {
            client.provider.metrics.connections.add(-1)
        } else {
            recordConnectFailure(reason)
        }
        stateMachine.handleClose(of: connection.number, at: now)
        performActions()
        flush()
        client.requestGrowth(of: self)
    }

    private func recordConnectFailure(_ reason: TLSCloseReason) {
        if case .closedLocally = reason { return client.provider.metrics.countConnect(result: "given_up") }
        connectFailure = reason.description
        if case .refused = reason {
            client.provider.metrics.countConnect(result: "refused")
            client.provider.log.error(
                "apns endpoint is not trusted and nothing was sent; correct the cause in the reason field",
                .field("endpoint", key.endpoint.description), .field("reason", reason.description))
        } else {
            client.provider.metrics.countConnect(result: "failed")
            client.provider.log.warning(
                "cannot connect to apns", .field("endpoint", key.endpoint.description),
                .field("reason", reason.description))
        }
    }

    // MARK: Outcomes

    /// Reports the ends of requests that the connection's session has collected.
    func handleOutcomes(of connection: PushConnection) {
        guard connection.session.hasOutcomes else { return }
        let batch = connection.session.outcomes
        for outcome in batch.outcomes { handle(outcome, in: batch, on: connection) }
        connection.session.clearOutcomes()
    }

    private func handle(
        _ outcome: RequestOutcome, in batch: OutcomeBatch, on connection: PushConnection
    ) {
        let ticket = PoolTicket(tag: outcome.tag)
        guard outcome.endReason == .answered else {
            return handleUnanswered(ticket, outcome: outcome, on: connection)
        }
        if outcome.status == 200, outcome.fields.isEmpty, outcome.body.isEmpty {
            return handleAccepted(ticket, outcome: outcome, on: connection)
        }
        let details = PushDetails(of: outcome, in: batch, with: client.reader)
        let verdict = stateMachine.end(ticket, with: .answered(effect(of: details, on: ticket)), at: now)
        switch verdict {
        case .ended, .lateAnswer:
            client.reportAnswered(
                in: self, slot: Int(ticket.index), details: details, isLate: verdict == .lateAnswer)
        case .retry:
            client.provider.metrics.countRefusal(details.response)
            client.provider.metrics.resentPushes.add()
        case .noLateAnswer: break
        case .stale: handleStale(ticket, outcome: outcome, on: connection)
        }
    }

    /// Handles an answer to a push that had ended before it was fully sent. The push was reported before, so the answer
    /// only frees the stream.
    private func handleStale(
        _ ticket: PoolTicket, outcome: RequestOutcome, on connection: PushConnection
    ) {
        if outcome.isLate { _ = stateMachine.handleFreedStream(of: ticket, on: connection.number) }
    }

    /// Handles the answer to most pushes: status 200 without fields and body, so there is nothing to decode.
    private func handleAccepted(
        _ ticket: PoolTicket, outcome: RequestOutcome, on connection: PushConnection
    ) {
        switch stateMachine.end(ticket, with: .answered(.authorizes), at: now) {
        case .ended: client.reportAccepted(in: self, slot: Int(ticket.index), isLate: false)
        case .lateAnswer: client.reportAccepted(in: self, slot: Int(ticket.index), isLate: true)
        case .stale: handleStale(ticket, outcome: outcome, on: connection)
        case .retry, .noLateAnswer: break
        }
        // The check saves a write for each push, because the value is nearly always nil.
        if connectFailure != nil { connectFailure = nil }
    }

    /// Handles a push that ended without an answer. The state machine decides whether it is sent again.
    private func handleUnanswered(
        _ ticket: PoolTicket, outcome: RequestOutcome, on connection: PushConnection
    ) {
        if outcome.endReason == .reset || outcome.endReason == .refused {
            client.provider.metrics.countReset(
                code: outcome.endReason == .refused ? "REFUSED_STREAM" : outcome.code.description)
        }
        let verdict =
            if let end = PoolOutcome(unanswered: outcome) {
                stateMachine.end(ticket, with: end, at: now)
            } else {
                stateMachine.handleFreedStream(of: ticket, on: connection.number)
            }
        switch verdict {
        case .ended(let end): client.reportEnded(in: self, slot: Int(ticket.index), end: end)
        case .noLateAnswer: client.reportNoLateAnswer(in: self, slot: Int(ticket.index))
        case .retry: client.provider.metrics.resentPushes.add()
        case .lateAnswer, .stale: break
        }
    }

    // MARK: Answers

    /// Returns the revision of the provider token with which the push was sent.
    private func bearerRevision(of ticket: PoolTicket) -> Int {
        unsafe pushes[Int(ticket.index)].pointee.bearerRevision
    }

    /// Returns the effect of an answer on its connection. An answer about the provider token also changes the
    /// token.
    private func effect(of details: PushDetails, on ticket: PoolTicket) -> ResponseEffect {
        switch details.response.disposition {
        case .accepted, .tokenGone, .tokenSuspect, .tokenThrottled, .channelGone, .channelLimit:
            connectFailure = nil
            return .authorizes
        case .connectionUnusable: return .connectionUnusable
        case .providerTokenExpired:
            guard stateMachine.isCurrent(ticket) else { return .nothing }
            let isRemade = client.provider.tokens.handleExpired(
                for: key.profile.key, revision: bearerRevision(of: ticket), at: now)
            refreshBearer()
            return .tokenExpired(isRemade: isRemade)
        case .tooManyProviderTokens:
            guard stateMachine.isCurrent(ticket) else { return .nothing }
            let isFirstReport = client.provider.tokens.handleTooMany(
                for: key.profile.key, revision: bearerRevision(of: ticket), at: now)
            if isFirstReport {
                client.provider.log.error(
                    "apns reports too many provider tokens; find the other process that uses this key",
                    .field("key", key.profile.key.description))
            }
            refreshBearer()
            return .tooManyTokens
        case .serverTrouble: return .serverTrouble
        case .appMisconfigured, .requestFaulty: return .nothing
        }
    }
}

extension PoolOutcome {
    /// The end of a request without an answer. Nil if the request had already ended and only its stream is free now.
    fileprivate init?(unanswered outcome: RequestOutcome) {
        switch outcome.endReason {
        case .answered: preconditionFailure("the request was answered")
        case .notProcessed: self = .notProcessed
        case .refused: self = .refused
        case .reset:
            self = .reset(
                isEnhanceYourCalm: outcome.code == .enhanceYourCalm,
                mayHaveBeenSent: outcome.mayHaveBeenSent)
        case .connectionLost: self = .connectionLost
        case .overdue: self = .overdue(mayHaveBeenSent: outcome.mayHaveBeenSent)
        case .cancelled: self = .withdrawn
        case .released: return nil
        }
    }
}

extension PushDetails {
    /// Limit on `retry-after`: one day. A longer wait is ignored, because it is probably an error.
    private static let retryAfterSecondsMax = 86_400

    fileprivate init(of outcome: RequestOutcome, in batch: OutcomeBatch, with reader: JSONReader) {
        let fields = batch.fields(of: outcome)
        let text = { (value: ArraySlice<UInt8>?) in value.map { String(decoding: $0, as: UTF8.self) } }
        let announcedSeconds = text(fields["retry-after"]).flatMap { Int($0) }
        let retryAfterSeconds = announcedSeconds.flatMap {
            (0...Self.retryAfterSecondsMax).contains($0) ? $0 : nil
        }
        // A truncated body is not valid JSON, so it is not parsed.
        let completeBody = outcome.isBodyTruncated ? [] : batch.body(of: outcome)
        self.init(
            response: APNsResponse(status: Int(outcome.status), body: completeBody, with: reader),
            retryAfterSeconds: retryAfterSeconds, uniqueID: text(fields["apns-unique-id"]),
            channelID: text(fields["apns-channel-id"]), body: Array(batch.body(of: outcome)))
    }
}
