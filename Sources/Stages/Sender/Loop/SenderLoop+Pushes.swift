internal import APNs
internal import Catalog
internal import Lifecycle
internal import LiveActivity
internal import StageSupport
internal import Telemetry

// The path to APNs.
extension SenderLoop {
    /// Returns whether and how many pushes of a sheet the connections take.
    func availability(of sheet: Sheet, isSuspect: Bool) -> PushAvailability {
        guard let client else { return .open(capacity: 0) }
        if let template = sheet.template {
            return availability(of: template, isSuspect: isSuspect, by: client)
        }
        guard let catalog = environment.catalog else { return .open(capacity: 0) }
        guard let app = catalog.apps[sheet.head.app] else { return .closed(reason: "unknown_app") }
        let profile = PushProfile(
            environment: sheet.head.environment, bundleID: app.bundleID,
            key: ProviderKeyName(teamID: app.teamID, keyID: app.keyID))
        do {
            let template = try sharedTemplate(of: sheet, for: profile)
            sheet.template = template
            return availability(of: template, isSuspect: isSuspect, by: client)
        } catch {
            return .faulty(code: "header_faulty")
        }
    }

    private func availability(of template: PushTemplate, isSuspect: Bool, by client: APNsClient)
        -> PushAvailability
    {
        let capacity = client.capacity(for: template, isSuspect: isSuspect)
        return client.isConnecting(for: template)
            ? .connecting(capacity: capacity) : .open(capacity: capacity)
    }

    /// Returns the request of a sheet. Sheets of one send share a request, because making it costs as much as
    /// thirty pushes.
    private func sharedTemplate(of sheet: Sheet, for profile: PushProfile) throws -> PushTemplate {
        if let last = lastTemplate, last.fits(sheet, profile: profile) { return last.template }
        profiles.insert(profile)
        let template = try self.template(of: sheet, line: 0, for: profile)
        lastTemplate = sheet.head.isBroadcast ? nil : CachedPushTemplate(template, for: profile, of: sheet)
        return template
    }

    private func template(of sheet: Sheet, line: Int, for profile: PushProfile) throws -> PushTemplate {
        guard let client else { throw SenderFailure("the client is closed") }
        let head = sheet.head
        guard head.isBroadcast else {
            return try client.template(
                profile,
                LiveActivityHeaders(
                    topic: head.topic, priority: head.priority, expiration: head.expiration,
                    collapseID: head.collapseID), body: sheet.content.body)
        }
        let channel = sheet.text(sheet.index.lines[line].token)
        return try client.template(
            profile,
            broadcast: BroadcastHeaders(
                channelID: channel, priority: head.priority, expiration: head.expiration),
            body: sheet.content.body)
    }

    func push(_ pushes: [DeliveryActions.Push]) {
        if pushes.isEmpty { return }
        let limits = limits
        guard let client else {
            for push in pushes { refused(push.tag, as: .stopped) }
            return
        }
        // Neighbors nearly always belong to one sheet, so shared parts are looked up once.
        var first = 0
        for index in pushes.indices
        where index + 1 == pushes.count || pushes[index + 1].sheet !== pushes[first].sheet {
            push(pushes[first...index], of: pushes[first].sheet, by: client, limits: limits)
            first = index + 1
        }
    }

    private func push(
        _ pushes: ArraySlice<DeliveryActions.Push>, of sheet: Sheet, by client: APNsClient,
        limits: PushDeadlines
    ) {
        guard let template = sheet.template else {
            for push in pushes { refused(push.tag, as: .stopped) }
            return
        }
        if sheet.head.isBroadcast {
            for push in pushes { broadcast(push, first: template, limits: limits) }
            return
        }
        let to = sheet.content.to
        for index in pushes.indices {
            push(
                line: pushes[index].line, of: sheet, in: to, template, isSuspect: pushes[index].isSuspect,
                by: client, limits: limits)
        }
    }

    private func push(
        line: Int, of sheet: Sheet, in to: [UInt8], _ template: PushTemplate, isSuspect: Bool,
        by client: APNsClient, limits: PushDeadlines
    ) {
        let tag = sheet.tag(of: line)
        // The buffer is reused. A new one would cost an allocation for each push.
        var bytes: [UInt8] = []
        swap(&bytes, &tokenBytes)
        defer { swap(&bytes, &tokenBytes) }
        guard read(line, of: sheet, in: to, into: &bytes) else {
            return plan.unusable(tag, code: "token_unreadable", at: time)
        }
        do {
            try client.push(
                template, token: bytes.span, id: sheet.pushID(of: line), tag: tag, deadlines: limits,
                isSuspect: isSuspect)
        } catch {
            refused(tag, as: error)
        }
    }

    /// Reads the line's token.
    private func read(_ line: Int, of sheet: Sheet, in to: [UInt8], into bytes: inout [UInt8]) -> Bool {
        let place = sheet.index.lines[line].token
        let digits = to.span.extracting(Int(place.lowerBound)..<Int(place.upperBound))
        if PushToken.decode(hex: digits, into: &bytes) { return true }
        guard let token = token(of: sheet, line: line) else { return false }
        bytes = token.bytes
        return true
    }

    /// Pushes to a channel. Each channel needs a separate request.
    private func broadcast(_ push: DeliveryActions.Push, first: PushTemplate, limits: PushDeadlines) {
        do {
            let template =
                push.line == 0
                ? first : try template(of: push.sheet, line: push.line, for: first.appEnvironment)
            try client?.push(
                template, token: Span(), id: push.sheet.pushID(of: push.line), tag: push.tag,
                deadlines: limits)
        } catch let refusal as PushRefusal {
            refused(push.tag, as: refusal)
        } catch {
            plan.unusable(push.tag, code: "header_faulty", at: time)
        }
    }

    private func refused(_ tag: UInt64, as refusal: PushRefusal) {
        let fault: PushFault =
            switch refusal {
            case .full: .noConnection
            case .stopped: .stopped
            case .noProviderKey: .noProviderKey
            }
        plan.ended(tag, as: PushAnswer(.notProcessed(fault)), at: time)
    }

    /// The deadlines of a push that leaves now.
    var limits: PushDeadlines {
        let deadline = loop.now.advanced(byMilliseconds: settings.answerMilliseconds)
        return PushDeadlines(sendBy: plan.leasedUntil, deadline: deadline)
    }

    private func token(of sheet: Sheet, line: Int) -> PushToken? {
        let place = sheet.index.lines[line]
        let to = sheet.content.to
        let digits = to.span.extracting(
            Int(place.token.lowerBound)..<Int(place.token.upperBound))
        if let token = PushToken(hex: digits) { return token }
        return try? seal.open(sheet.text(place.token), app: sheet.head.app, entry: sheet.text(place.entry))
    }

    // MARK: Answers

    func ended(_ outcomes: PushOutcomes) {
        let time = time
        for outcome in outcomes.list {
            if outcome.disposition == .accepted, !outcome.isLate {
                plan.accepted(outcome.tag, at: time)
            } else {
                plan.ended(outcome.tag, as: answer(to: outcome, in: outcomes), at: time)
            }
        }
        // Pushes that leave now are written together with this turn's bytes.
        do { try turn() } catch { return context.fail(with: error) }
        schedule()
    }

    private func answer(to outcome: PushOutcome, in outcomes: PushOutcomes) -> PushAnswer {
        guard outcome.end == .answered, let disposition = outcome.disposition else {
            return PushAnswer(outcome.end, isLate: outcome.isLate)
        }
        let details = outcomes.details(of: outcome)
        return PushAnswer(
            answered: disposition, status: Int(outcome.status), reason: details?.response.reasonText,
            timestamp: details?.response.timestamp, retryAfterSeconds: details?.retryAfterSeconds,
            isLate: outcome.isLate)
    }

    // MARK: Dead tokens

    /// Reports a dead token. Ingest drops it unless the phone has reported it again since.
    func report(_ dead: DeliveryActions.DeadToken) {
        let (sheet, place) = (dead.sheet, dead.sheet.index.lines[dead.line])
        guard !sheet.head.isBroadcast, let token = token(of: sheet, line: dead.line) else { return }
        var report = Report(
            app: sheet.head.app, environment: sheet.head.environment,
            installation: sheet.text(place.installation), kind: .deadToken)
        report.refusal = Maybe(
            Report.TokenRefusal(
                tokenHash: Hex.text(of: seal.hash(of: token)), entry: sheet.text(place.entry),
                reason: dead.reason,
                invalidatedAt: dead.invalidatedAt, dispatchedAt: time.unixMilliseconds))
        writer.report(report)
    }
}
