internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import TokenSealing

// Reports of a push token by the phone: a start token, or the update token of an activity.

extension ReportMerger {
    /// Merges the token that starts activities: those of one type, or of all types.
    func mergeStartToken(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        let index = context.installation.findOrAddStartToken(ofType: report.attributesType)
        context.affectedRows.insertStartToken(at: index)
        // An unregistered type is listed in the row of the token for all types (`TokenRow`), so that row changes too.
        if context.installation.startTokens[index].unregisteredAt != nil {
            context.affectedRows.insertAll()
        }
        let oldToken = context.installation.startTokens[index].token
        let entry = RegistryKey.Entry.start(type: report.attributesType)
        guard
            let token = try newestToken(
                from: report, after: oldToken, under: entry, into: &context,
                writeInterval: WriteInterval.heartbeatMilliseconds)
        else { return }
        let before = context.installation.startTokens[index]
        let wasUsable = context.installation.isUsable(before)
        context.installation.startTokens[index].token = token
        let after = context.installation.startTokens[index]
        // With a newer time, the same token can count as not refused, and its type as registered again. A registration
        // counts even if the token cannot be used, because a token for all types starts this type again.
        if wasUsable != context.installation.isUsable(after) || before.isUnregistered != after.isUnregistered
        {
            context.markChanged()
        }
        // The installation claims a token that is new for it or usable again. It repeats its claim now and then,
        // because claims may arrive in another order than the reports (`TokenOwner`).
        let mustClaim =
            oldToken?.hash != token.hash || !wasUsable
            || WriteInterval.isBoundaryCrossed(
                every: TokenOwner.claimMilliseconds, from: oldToken?.at.received, to: token.at.received)
        if mustClaim, context.installation.isUsable(after) {
            context.claim = TokenClaim(
                tokenHash: token.hash, environment: token.environment, at: token.at)
        }
        if oldToken?.hash != token.hash {
            appendTokenEvent(.startToken, of: token, from: report, to: &context)
        }
    }

    /// Merges the token that updates one activity. It also shows that the activity runs.
    func mergeUpdateToken(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        // It also notes that the row of the activity is affected.
        let index = try mergeSignOfLife(from: report, into: &context)
        if let channel = report.channel {
            let effect = context.installation.activities[index].channel.merge(
                channel, at: context.time)
            context.noteEffect(effect)
        }
        let oldToken = context.installation.activities[index].token
        let entry = RegistryKey.Entry.update(activity: id)
        guard
            let token = try newestToken(
                from: report, after: oldToken, under: entry, into: &context,
                writeInterval: writeInterval.updateTokenMilliseconds)
        else { return }
        context.installation.activities[index].token = token
        if let oldToken, context.installation.isUsable(oldToken) != context.installation.isUsable(token) {
            context.markChanged()
        }
        let hasClosed = context.installation.activities[index].closing != nil
        if oldToken?.hash != token.hash, !hasClosed {
            appendTokenEvent(.updateToken, of: token, from: report, to: &context)
        }
    }

    /// Returns the token that is valid after the report: the later report wins. Returns nil if the known token stays
    /// valid, with its known time. Notes in the context whether the token changed or was repeated.
    ///
    /// - Parameters:
    ///   - entry: the registry entry for which the token is sealed.
    ///   - milliseconds: the interval in which a repeated token is written once (`WriteInterval`).
    private func newestToken(
        from report: Report, after old: Installation.Token?, under entry: RegistryKey.Entry,
        into context: inout MergeContext, writeInterval milliseconds: Int64
    ) throws(RejectedReport) -> Installation.Token? {
        guard let environment = report.environment else { throw RejectedReport.missing(field: "environment") }
        // An older report with a damaged token is rejected too, so the token is opened first.
        let pushToken = try openToken(of: report)
        let time = context.time
        if let old, time < old.at { return nil }
        let hash = Hex.text(of: tokenSeal.hash(of: pushToken))
        var token = Installation.Token(
            hash: hash, sealed: nil, environment: environment, at: time, isUnproven: true)
        if let old {
            let isSameToken = old.hash == hash && old.environment == environment
            if isSameToken { token.isUnproven = old.isUnproven }
            let oldStaysValid = time == old.at && (isSameToken || !token.outranks(old))
            if oldStaysValid { return nil }
            // The sealed text of a refused, expired or taken-over token was removed. Then the token is sealed anew
            // below.
            if isSameToken, let stored = old.sealed {
                token.sealed = stored
                let isDue = context.noteEffect(.repeated, previousTime: old.at, writeInterval: milliseconds)
                // This is how keys rotate: a token that must be written anyway is sealed with the newest key.
                if isDue, !tokenSeal.isCurrent(stored) {
                    token.sealed = sealed(pushToken, of: report, under: entry)
                }
                return token
            }
        }
        token.sealed = sealed(pushToken, of: report, under: entry)
        context.noteEffect(.changed)
        return token
    }

    /// Returns the token of the report in plain text.
    private func openToken(of report: Report) throws(RejectedReport) -> PushToken {
        do throws(TokenSeal.Failure) {
            if let token = try tokenSeal.open(tokenOf: report) { return token }
        } catch {
            switch error {
            case .malformed:
                throw RejectedReport(code: .badToken, description: "token \(PushToken.formatProblem)")
            case .unknownKey, .sealedForAnotherRow:
                throw RejectedReport(code: .sealedToken, description: "\(error); then redrive the record")
            }
        }
        throw RejectedReport.missing(field: "token")
    }

    /// Returns the token, sealed for its registry entry. Usually the gateway has sealed it for this entry already.
    private func sealed(_ token: PushToken, of report: Report, under entry: RegistryKey.Entry) -> String {
        if report.isTokenSealed, report.tokenEntry == entry, let sealedToken = report.token,
            tokenSeal.isCurrent(sealedToken)
        {
            return sealedToken
        }
        return tokenSeal.seal(token, app: app.id, entry: entry.text)
    }

    private func appendTokenEvent(
        _ code: Event.Code, of token: Installation.Token, from report: Report, to context: inout MergeContext
    ) {
        context.appendEvent(
            code, attributesType: report.attributesType, activity: report.activity, group: report.group,
            tokenHash: token.hash)
    }
}

extension Installation.Token {
    /// Orders two tokens that were reported at the same time. Any order is correct if it is always the same.
    fileprivate func outranks(_ other: Installation.Token) -> Bool {
        hash == other.hash
            ? environment.takesPrecedence(over: other.environment) : hash.takesPrecedence(over: other.hash)
    }
}

extension Installation {
    /// Returns the index of the start token of `type`. Adds an entry if the type has none.
    mutating func findOrAddStartToken(ofType type: String?) -> Int {
        for index in startTokens.indices where startTokens[index].type.isExactlyEqual(to: type) {
            return index
        }
        startTokens.append(StartToken(type: type))
        return startTokens.count - 1
    }

    /// Returns the index of the activity. Adds an entry for an unknown one.
    mutating func findOrAddActivity(id: String) -> Int {
        for index in activities.indices where activities[index].id.isExactlyEqual(to: id) {
            return index
        }
        activities.append(Activity(id: id))
        return activities.count - 1
    }
}
