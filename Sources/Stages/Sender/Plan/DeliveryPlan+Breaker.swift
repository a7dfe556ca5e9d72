internal import APNs
internal import Jobs
internal import Lifecycle

// The effects of answers on an app: its breaker, and its unproven tokens.
extension DeliveryPlan {
    /// Updates the app's breaker with the end of a push. Only some answers show that the app's settings are wrong.
    ///
    /// An accepted push comes here only if its answer is late. `accepted` handles the others.
    mutating func updateBreaker(with answer: PushAnswer, to sheet: Sheet, line: Int) {
        let app = sheet.app
        let reason = answer.reasonCode ?? ""
        var isOpened = false
        var isMended = false
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
            if answer.end == .notProcessed(.noProviderKey) {
                isOpened = app.breaker.countMisconfigured(because: reason, at: time.now)
            }
        case .accepted:
            // The late answer describes an earlier time, so it does not count in the breaker's window.
            isMended = true
            suspects.noteAccepted(sheet.subjects[line])
            if sheet.states[line].isUnproven { noteProven(sheet, line: line) }
        case .tokenGone, .tokenThrottled, .connectionUnusable, .serverTrouble, .requestFaulty, .channelGone,
            .channelLimit:
            app.breaker.countOtherAnswer(at: time.now)
            // For this answer APNs knew the token and the topic, so the app's settings are right.
            isMended = answer.disposition == .tokenGone
        }
        if isOpened { actions.events.append(.breakerOpened(app.name, reason: reason)) }
        endProbe(sheet, line: line, isMended: isMended)
    }

    // MARK: Probes

    /// Ends the probe if the line is it. Its answer may close the breaker.
    ///
    /// - Parameter isMended: whether the answer shows that the app's settings are right.
    mutating func endProbe(_ sheet: Sheet, line: Int, isMended: Bool) {
        guard sheet.states[line].isProbe else { return }
        sheet.setProbe(false, for: line)
        if sheet.app.breaker.endProbe(isMended: isMended, at: time.now) {
            actions.events.append(.breakerClosed(sheet.app.name))
        }
    }

    /// Ends a probe that shows nothing: its push did not leave, or APNs refused an unproven token. The next line may
    /// probe.
    mutating func giveUpProbe(_ sheet: Sheet, line: Int) {
        sheet.setProbe(false, for: line)
        sheet.app.breaker.giveUpProbe()
    }

    // MARK: Unproven tokens

    /// Whether APNs has accepted the line's token before, as far as the sheet and this process know.
    func isProven(_ sheet: Sheet, line: Int) -> Bool {
        !sheet.states[line].isUnproven
            || reportedTokens.contains(sheet.tokenFingerprint(of: line, seed: seed))
    }

    /// Handles the acceptance of an unproven token. Reports the token as proven, unless it was reported before, or too
    /// many are reported now.
    mutating func noteProven(_ sheet: Sheet, line: Int) {
        sheet.app.unproven.accepted(at: time.now)
        guard sheet.app.unproven.mayReport, !sheet.head.isBroadcast else { return }
        let token = sheet.tokenFingerprint(of: line, seed: seed)
        guard !reportedTokens.contains(token) else { return }
        reportedTokens.insert(token)
        sheet.app.unproven.countReport()
        actions.provenTokens.append(DeliveryActions.ProvenToken(sheet: sheet, line: line))
    }

    /// Handles the refusal of an unproven token. It says nothing about the app's settings.
    private mutating func unprovenTokenRefused(_ sheet: Sheet, line: Int, _ reason: String) {
        if sheet.app.unproven.refused(at: time.now) {
            actions.events.append(.unprovenTokensRefused(sheet.app.name, reason: reason))
        }
        if sheet.states[line].isProbe { giveUpProbe(sheet, line: line) }
    }
}
