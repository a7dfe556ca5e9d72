internal import Catalog
internal import CatalogRecords
internal import Cryptography
internal import Kafka
internal import Lifecycle
internal import Members
internal import StageSupport
internal import Telemetry
internal import Topics

// The calls of the endpoint.

extension EndpointLoop {
    /// Sends the events that are due.
    func sendDue(at now: Instant) {
        // If the process was suspended for long, the partitions may belong to another member. The next commit shows
        // whether they do.
        guard !isGone, consumer.isAssignmentCertain(at: now) else { return }
        let due = queue.takeDue(at: now)
        guard !due.isEmpty else { return }
        let wallTime = WallTime.now()
        let keys = parts.endpoint.signingSecrets(at: wallTime.milliseconds).compactMap { secret in
            try? WebhookSecret.open(secret, of: parts.endpoint, with: seal)
        }
        for event in due { send(event, keys: keys, at: wallTime) }
    }

    private func send(_ event: WebhookEvent, keys: [SecretBytes], at wallTime: WallTime) {
        let (assignment, startedAt) = (assignment, Instant.now())
        guard !keys.isEmpty else {
            let outcome = CallOutcome.failed(
                reason:
                    "the secret of the endpoint does not open; give this process the sealing keys of the others",
                retryAfterSeconds: nil)
            return finish(event, with: outcome, of: assignment, startedAt: startedAt)
        }
        let request = WebhookRequest(
            to: parts.url, id: event.id, body: event.body, keys: keys, seconds: wallTime.seconds)
        parts.onStep(.callStarted)
        client.send(request) { [unowned self] outcome in
            parts.metrics.callSeconds.observe(Instant.now().seconds(since: startedAt))
            finish(event, with: outcome, of: assignment, startedAt: startedAt)
            iterate()
        }
    }

    /// Takes the outcome of a call.
    private func finish(
        _ event: WebhookEvent, with outcome: CallOutcome, of callAssignment: Int, startedAt: Instant
    ) {
        parts.metrics.countCall(outcome)
        // The partitions were released while the call was in flight. Their next owner sends the event again.
        guard callAssignment == assignment else { return }
        let topic = parts.environment.layout.name(of: event.anchor.source.topic)
        let partition = TopicPartition(topic, event.anchor.partition)
        let attempt = queue.attempts(of: event) + 1
        let effect = queue.finish(
            event, with: outcome, at: .now(), chance: Double.random(in: 0...1, using: &random))
        publishCall(event, outcome: outcome, effect: effect, attempt: attempt, startedAt: startedAt)
        switch effect {
        case .delivered:
            partitions[partition]?.finish(event)
            parts.metrics.countDelivered()
            parts.onStep(.eventDelivered)
        case .givenUp:
            partitions[partition]?.finish(event)
            parts.metrics.countGivenUp()
            warn(
                "an event was given up after its last attempt; send it again with a replay", about: event,
                after: outcome)
        case .retry(let attempts):
            partitions[partition]?.recordAttempts(attempts, of: event)
            // One line for each event, and not for each attempt.
            if attempts == 1 {
                warn("an event was not delivered and is sent again", about: event, after: outcome)
            }
            parts.onStep(.callFailed)
        case .disable:
            isGone = true
            parts.report.update { $0.goneAt = WallTime.now().milliseconds }
        }
    }

    /// Adds the call to the newest calls, which the process publishes in `members`.
    private func publishCall(
        _ event: WebhookEvent, outcome: CallOutcome, effect: WebhookQueue.Effect, attempt: Int,
        startedAt: Instant
    ) {
        var reason: String?
        if case .failed(let text, _) = outcome { reason = text }
        let (now, wallTime) = (Instant.now(), WallTime.now().milliseconds)
        var nextAttemptAt: Int64?
        if case .retry = effect, let next = queue.nextAttempt(of: event) {
            nextAttemptAt = wallTime + Int64(max(0, next.milliseconds(since: now)))
        }
        parts.environment.webhookDeliveries.add(
            WebhookDelivery(
                app: parts.endpoint.app, endpoint: parts.endpoint.name, event: event.id,
                type: event.type.rawValue, at: wallTime, milliseconds: now.milliseconds(since: startedAt),
                outcome: effect == .givenUp ? "given_up" : outcome.label, attempt: attempt, reason: reason,
                nextAttemptAt: nextAttemptAt))
    }

    private func warn(
        _ message: StaticString, about event: WebhookEvent, after outcome: CallOutcome
    ) {
        guard case .failed(let reason, _) = outcome else { return }
        parts.log.warning(
            message, .field("app", parts.endpoint.app), .field("endpoint", parts.endpoint.name),
            .field("event", event.id), .field("error", reason))
    }
}
