internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import TokenSealing

extension ReportMerger {
    func mergeStartToken(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        let index = context.installation.findOrAddStart(ofType: report.attributesType)
        context.affectedRows.insertStart(at: index)
        // The row of the token for all types lists the types that it must not start.
        if context.installation.startTokens[index].unregisteredAt != nil {
            context.affectedRows.insertAll()
        }
        let old = context.installation.startTokens[index].token
        let entry = RegistryKey.Entry.start(type: report.attributesType)
        guard
            let token = try newestToken(
                from: report, after: old, under: entry, into: &context,
                interval: WriteInterval.heartbeatMilliseconds)
        else { return }
        let before = context.installation.startTokens[index]
        let wasUsable = context.installation.isUsable(before)
        context.installation.startTokens[index].token = token
        let after = context.installation.startTokens[index]
        // The token is the same, but its side of a refusal or of an unregistration changed. An unregistration
        // counts even if the token cannot be used, because a token for all types starts its type again.
        if wasUsable != context.installation.isUsable(after) || before.isUnregistered != after.isUnregistered
        {
            context.markChanged()
        }
        if old?.hash != token.hash { appendTokenEvent(.startToken, of: token, from: report, to: &context) }
    }

    func mergeUpdateToken(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        guard let id = report.activity else { throw RejectedReport.missing(field: "activityId") }
        try mergeSignOfLife(from: report, into: &context)
        let index = context.installation.findOrAddActivity(id: id)
        if let channel = report.channel {
            let effect = context.installation.activities[index].channel.merge(
                channel, at: context.time)
            context.record(effect)
        }
        let old = context.installation.activities[index].token
        let entry = RegistryKey.Entry.update(activity: id)
        guard
            let token = try newestToken(
                from: report, after: old, under: entry, into: &context,
                interval: writeInterval.updateTokenMilliseconds)
        else { return }
        context.installation.activities[index].token = token
        if let old, context.installation.isUsable(old) != context.installation.isUsable(token) {
            context.markChanged()
        }
        let isOver = context.installation.activities[index].closing != nil
        if old?.hash != token.hash, !isOver {
            appendTokenEvent(.updateToken, of: token, from: report, to: &context)
        }
    }

    /// Returns the token that is valid after the report: the later one. Returns nil if nothing changed.
    private func newestToken(
        from report: Report, after old: Installation.Token?, under entry: RegistryKey.Entry,
        into hearing: inout MergeContext, interval: Int64
    ) throws(RejectedReport) -> Installation.Token? {
        guard let environment = report.environment else { throw RejectedReport.missing(field: "environment") }
        let pushToken = try openToken(of: report)
        let time = hearing.time
        if let old, time < old.at { return nil }
        let hash = Hex.text(of: seal.hash(of: pushToken))
        var token = Installation.Token(hash: hash, sealed: nil, environment: environment, at: time)
        if let old {
            let isSame = old.hash == hash && old.environment == environment
            if time == old.at, isSame || !token.outranks(old) { return nil }
            if isSame, let stored = old.sealed {
                token.sealed = stored
                let isDue = hearing.record(.repeated, since: old.at, interval: interval)
                // This is how keys rotate: a token that must be written anyway is sealed with the newest key.
                if isDue, !seal.isCurrent(stored) {
                    token.sealed = sealed(pushToken, of: report, under: entry)
                }
                return token
            }
        }
        token.sealed = sealed(pushToken, of: report, under: entry)
        hearing.record(.changed)
        return token
    }

    private func openToken(of report: Report) throws(RejectedReport) -> PushToken {
        do throws(TokenSeal.Failure) {
            if let token = try seal.open(tokenOf: report) { return token }
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

    /// Returns the sealed token. The writer of the report usually sealed it for this row already.
    private func sealed(_ token: PushToken, of report: Report, under entry: RegistryKey.Entry) -> String {
        if report.isTokenSealed, report.tokenEntry == entry, let stored = report.token,
            seal.isCurrent(stored)
        {
            return stored
        }
        return seal.seal(token, app: app.id, entry: entry.text)
    }

    private func appendTokenEvent(
        _ code: Event.Code, of token: Installation.Token, from report: Report, to hearing: inout MergeContext
    ) {
        hearing.appendEvent(
            code, attributesType: report.attributesType, activity: report.activity, group: report.group,
            tokenHash: token.hash)
    }
}

extension Installation.Token {
    /// Orders two tokens that were reported at the same time.
    fileprivate func outranks(_ other: Installation.Token) -> Bool {
        hash == other.hash
            ? environment.takesPrecedence(over: other.environment) : hash.takesPrecedence(over: other.hash)
    }
}

extension Installation {
    /// Returns the index of the start token of `type`. Adds an entry if the type has none.
    mutating func findOrAddStart(ofType type: String?) -> Int {
        for index in startTokens.indices where startTokens[index].type.isExactlyEqual(to: type) {
            return index
        }
        startTokens.append(StartToken(type: type))
        return startTokens.count - 1
    }

    mutating func findOrAddActivity(id: String) -> Int {
        for index in activities.indices where activities[index].id.isExactlyEqual(to: id) {
            return index
        }
        activities.append(Activity(id: id))
        return activities.count - 1
    }
}
