internal import APNs
internal import Jobs
internal import Lifecycle

// The effects of answers on an app: on its breaker, its suspect tokens and its unproven tokens.
extension DeliveryPlan {
    /// Updates the app's breaker with the end of a push, and ends the probe if the push was one.
    ///
    /// An accepted push comes here only if its answer is late. `accepted` handles the others.
    mutating func updateBreaker(with answer: PushAnswer, to sheet: Sheet, line: Int) {
        let app = sheet.app
        let reason = answer.reasonCode ?? ""
        var isOpened = false
        var probeResult = Breaker.ProbeResult.tryAgainAfterPause
        switch answer.disposition {
        case .tokenSuspect:
            suspects.noteRefused(sheet.subjects[line])
            guard isProven(sheet, line: line) else { return unprovenTokenRefused(sheet, line: line, reason) }
            isOpened = app.breaker.countRefusedToken(
                of: sheet.recipientFingerprint(of: line, seed: seed), because: reason, at: time.now)
        case .appMisconfigured, .providerTokenExpired, .tooManyProviderTokens:
            isOpened = app.breaker.countMisconfigured(because: reason, at: time.now)
        case nil:
            // APNs did not answer.
            switch answer.end {
            case .notProcessed(.noProviderKey):
                isOpened = app.breaker.countMisconfigured(because: reason, at: time.now)
            case .notProcessed, .withdrawn: probeResult = .tryAgainAtOnce
            case .unknown, .answered: break
            }
        case .accepted:
            // The late answer is about an earlier time, so it does not count in the breaker's window.
            return noteWorkingToken(sheet, line: line)
        case .tokenGone, .tokenThrottled, .connectionUnusable, .serverTrouble, .requestFaulty, .channelGone,
            .channelLimit:
            app.breaker.countGoodAnswer(at: time.now)
            // APNs gives this answer only if it knew the token and the topic, so the app's settings are right.
            if answer.disposition == .tokenGone { probeResult = .passed }
        }
        if isOpened { actions.events.append(.breakerOpened(app.name, reason: reason)) }
        endProbe(sheet, line: line, as: probeResult)
    }

    /// Handles the acceptance of a line's push. It shows that the token works. If the push was the probe, the probe has
    /// passed.
    mutating func noteWorkingToken(_ sheet: Sheet, line: Int) {
        if sheet.states[line].connections == .suspect { suspects.noteAccepted(sheet.subjects[line]) }
        if sheet.states[line].isUnproven { noteProven(sheet, line: line) }
        endProbe(sheet, line: line, as: .passed)
    }

    // MARK: Probes

    /// Ends the probe, if the line is the probe. The result may close the breaker.
    mutating func endProbe(_ sheet: Sheet, line: Int, as result: Breaker.ProbeResult) {
        guard sheet.states[line].isProbe else { return }
        sheet.setProbe(false, for: line)
        let hasClosed = sheet.app.breaker.endProbe(as: result, at: time.now)
        if hasClosed { actions.events.append(.breakerClosed(sheet.app.name)) }
    }

    // MARK: Unproven tokens

    /// Whether APNs has accepted the line's token before, as far as the sheet and this process know.
    func isProven(_ sheet: Sheet, line: Int) -> Bool {
        !sheet.states[line].isUnproven
            || provenTokens.contains(sheet.tokenFingerprint(of: line, seed: seed))
    }

    /// Handles the acceptance of an unproven token. Reports the token as proven, unless it was reported before, or too
    /// many are reported now.
    private mutating func noteProven(_ sheet: Sheet, line: Int) {
        sheet.app.unproven.countAccepted(at: time.now)
        guard sheet.app.unproven.mayReport, !sheet.head.isBroadcast else { return }
        let token = sheet.tokenFingerprint(of: line, seed: seed)
        guard !provenTokens.contains(token) else { return }
        provenTokens.insert(token)
        sheet.app.unproven.countReport()
        actions.provenTokens.append(DeliveryActions.ProvenToken(sheet: sheet, line: line))
    }

    /// Handles the refusal of an unproven token. It says nothing about the app's settings.
    private mutating func unprovenTokenRefused(_ sheet: Sheet, line: Int, _ reason: String) {
        let separationBegins = sheet.app.unproven.countRefused(at: time.now)
        if separationBegins { actions.events.append(.unprovenTokensRefused(sheet.app.name, reason: reason)) }
        endProbe(sheet, line: line, as: .tryAgainAtOnce)
    }
}
