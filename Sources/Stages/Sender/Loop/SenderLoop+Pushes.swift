internal import APNs
internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Lifecycle
internal import RecordFormat
internal import StageSupport
internal import Telemetry
internal import TokenSealing

// Pushes to APNs, and their answers.
extension SenderLoop {
    // MARK: Availability

    /// Returns how many pushes of a sheet the connections take. Makes the sheet's request for this.
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
        usedProfiles.insert(profile)
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

    // MARK: Pushes

    func push(_ pushes: [DeliveryActions.Push]) {
        if pushes.isEmpty { return }
        let deadlines = pushDeadlines
        guard let client else {
            for push in pushes { refused(push.tag, as: .stopped) }
            return
        }
        // Neighbors nearly always belong to one sheet, so shared parts are looked up once.
        var first = 0
        for index in pushes.indices {
            let isLastOfSheet = index + 1 == pushes.count || pushes[index + 1].sheet !== pushes[first].sheet
            guard isLastOfSheet else { continue }
            push(pushes[first...index], of: pushes[first].sheet, by: client, deadlines: deadlines)
            first = index + 1
        }
    }

    private func push(
        _ pushes: ArraySlice<DeliveryActions.Push>, of sheet: Sheet, by client: APNsClient,
        deadlines: PushDeadlines
    ) {
        guard let template = sheet.template else {
            for push in pushes { refused(push.tag, as: .stopped) }
            return
        }
        if sheet.head.isBroadcast {
            for push in pushes { broadcast(push, first: template, deadlines: deadlines) }
            return
        }
        let header = sheet.content.to
        for index in pushes.indices {
            push(
                line: pushes[index].line, of: sheet, in: header, template, isSuspect: pushes[index].isSuspect,
                by: client, deadlines: deadlines)
        }
    }

    /// - Parameter header: the sheet's header `to`.
    private func push(
        line: Int, of sheet: Sheet, in header: [UInt8], _ template: PushTemplate, isSuspect: Bool,
        by client: APNsClient, deadlines: PushDeadlines
    ) {
        let tag = sheet.tag(of: line)
        // The buffer is reused. A new one would cost an allocation for each push.
        var token: [UInt8] = []
        swap(&token, &tokenBytes)
        defer { swap(&token, &tokenBytes) }
        guard readToken(line: line, of: sheet, in: header, into: &token) else {
            return plan.unusable(tag, code: "token_unreadable", at: time)
        }
        do {
            try client.push(
                template, token: token.span, id: sheet.pushID(of: line), tag: tag, deadlines: deadlines,
                isSuspect: isSuspect)
        } catch {
            refused(tag, as: error)
        }
    }

    /// Reads the line's token. Returns false if it is damaged, or sealed with an unknown key.
    private func readToken(
        line: Int, of sheet: Sheet, in header: [UInt8], into bytes: inout [UInt8]
    ) -> Bool {
        let field = sheet.index.lines[line].token
        let digits = header.span.extracting(Int(field.lowerBound)..<Int(field.upperBound))
        if PushToken.decode(hex: digits, into: &bytes) { return true }
        guard let token = token(of: sheet, line: line) else { return false }
        bytes = token.bytes
        return true
    }

    /// Returns the line's token, which may be sealed; nil if it is damaged, or sealed with an unknown key.
    private func token(of sheet: Sheet, line: Int) -> PushToken? {
        let fields = sheet.index.lines[line]
        let header = sheet.content.to
        let digits = header.span.extracting(
            Int(fields.token.lowerBound)..<Int(fields.token.upperBound))
        if let token = PushToken(hex: digits) { return token }
        return try? seal.open(
            sheet.text(fields.token), app: sheet.head.app, entry: sheet.text(fields.entry))
    }

    /// Pushes to a channel. Each channel needs a separate request.
    ///
    /// - Parameter first: the request of the sheet's first line.
    private func broadcast(_ push: DeliveryActions.Push, first: PushTemplate, deadlines: PushDeadlines) {
        do {
            let template =
                push.line == 0
                ? first : try template(of: push.sheet, line: push.line, for: first.profile)
            try client?.push(
                template, token: Span(), id: push.sheet.pushID(of: push.line), tag: push.tag,
                deadlines: deadlines)
        } catch let refusal as PushRefusal {
            refused(push.tag, as: refusal)
        } catch {
            plan.unusable(push.tag, code: "header_faulty", at: time)
        }
    }

    /// Handles a push that the client did not take.
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
    var pushDeadlines: PushDeadlines {
        let deadline = loop.now.advanced(byMilliseconds: settings.answerMilliseconds)
        return PushDeadlines(sendBy: plan.leasedUntil, deadline: deadline)
    }

    // MARK: Answers

    func handleOutcomes(_ outcomes: PushOutcomes) {
        let time = time
        for outcome in outcomes.list {
            if outcome.disposition == .accepted, !outcome.isLate {
                plan.accepted(outcome.tag, at: time)
            } else {
                plan.ended(outcome.tag, as: answer(to: outcome, in: outcomes), at: time)
            }
        }
        // Pushes that leave in this turn are written to the connections together with the client's other bytes.
        do { try turn() } catch { return context.fail(with: error) }
        setTimer()
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

    // MARK: Dead and proven tokens

    /// Reports a dead token. Ingest drops it unless the phone has reported it again since.
    func report(_ dead: DeliveryActions.DeadToken) {
        let (sheet, fields) = (dead.sheet, dead.sheet.index.lines[dead.line])
        guard !sheet.head.isBroadcast, let token = token(of: sheet, line: dead.line) else { return }
        var report = Report(
            app: sheet.head.app, environment: sheet.head.environment,
            installation: sheet.text(fields.installation), kind: .deadToken)
        report.refusal = Maybe(
            Report.TokenRefusal(
                tokenHash: Hex.text(of: seal.hash(of: token)), entry: sheet.text(fields.entry),
                reason: dead.reason, invalidatedAt: dead.invalidatedAt,
                dispatchedAt: time.unixMilliseconds))
        writer.report(report)
        metrics.deadTokens.add()
    }

    /// Reports a token that APNs has accepted for the first time. From then on the registry calls it proven.
    func report(_ proven: DeliveryActions.ProvenToken) {
        let (sheet, fields) = (proven.sheet, proven.sheet.index.lines[proven.line])
        guard let token = token(of: sheet, line: proven.line),
            let entry = RegistryKey.Entry(text: sheet.text(fields.entry))
        else { return }
        var report = Report(
            app: sheet.head.app, environment: sheet.head.environment,
            installation: sheet.text(fields.installation), kind: .provenToken)
        report.proof = Maybe(
            Report.TokenProof(tokenHash: Hex.text(of: seal.hash(of: token)), entry: entry))
        writer.report(report)
        metrics.provenTokens.add()
    }
}
