internal import LiveActivity

extension Merge {
    func hearStartToken(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        let index = hearing.installation.start(report.attributesType)
        hearing.touched.touchStart(index)
        // The row of the token for all types lists the types that it must not start.
        if hearing.installation.starts[index].unregisteredAt != nil {
            hearing.touched.touchEverything()
        }
        let old = hearing.installation.starts[index].token
        let entry = RegistryKey.Entry.start(type: report.attributesType)
        guard
            let token = try token(
                report, after: old, under: entry, &hearing, grain: Grain.heartbeatMilliseconds)
        else { return }
        let before = hearing.installation.starts[index]
        let wasUsable = hearing.installation.isUsable(before)
        hearing.installation.starts[index].token = token
        let after = hearing.installation.starts[index]
        // The token is the same, but its side of a refusal or of an unregistration changed. An unregistration
        // counts even if the token cannot be used, because a token for all types starts its type again.
        if wasUsable != hearing.installation.isUsable(after) || before.isUnwanted != after.isUnwanted {
            hearing.noteChange()
        }
        if old?.hash != token.hash { announce(.startToken, of: token, from: report, in: &hearing) }
    }

    func hearUpdateToken(_ report: Report, _ hearing: inout Hearing) throws(ReportMisfit) {
        guard let id = report.activity else { throw ReportMisfit.incomplete("activityId") }
        try hearAlive(report, &hearing)
        let index = hearing.installation.activity(id)
        if let channel = report.channel {
            let heard = hearing.installation.activities[index].channel.hear(
                channel, at: hearing.time)
            hearing.note(heard)
        }
        let old = hearing.installation.activities[index].token
        let entry = RegistryKey.Entry.update(activity: id)
        guard
            let token = try token(
                report, after: old, under: entry, &hearing, grain: grain.updateMilliseconds)
        else { return }
        hearing.installation.activities[index].token = token
        if let old, hearing.installation.isUsable(old) != hearing.installation.isUsable(token) {
            hearing.noteChange()
        }
        let isOver = hearing.installation.activities[index].closing != nil
        if old?.hash != token.hash, !isOver { announce(.updateToken, of: token, from: report, in: &hearing) }
    }

    /// Returns the token that is valid after the report: the later one. Returns nil if nothing changed.
    private func token(
        _ report: Report, after old: Installation.Token?, under entry: RegistryKey.Entry,
        _ hearing: inout Hearing, grain: Int64
    ) throws(ReportMisfit) -> Installation.Token? {
        guard let environment = report.environment else { throw ReportMisfit.incomplete("environment") }
        let pushToken = try open(report)
        let time = hearing.time
        if let old, time < old.at { return nil }
        let hash = Hex.text(seal.hash(pushToken))
        var token = Installation.Token(hash: hash, sealed: nil, environment: environment, at: time)
        if let old {
            let isSame = old.hash == hash && old.environment == environment
            if time == old.at, isSame || !token.outranks(old) { return nil }
            if isSame, let stored = old.sealed {
                token.sealed = stored
                let isDue = hearing.note(.repeated, since: old.at, grain: grain)
                // This is how keys rotate: a token that must be written anyway is sealed with the newest key.
                if isDue, !seal.isCurrent(stored) {
                    token.sealed = sealed(pushToken, of: report, under: entry)
                }
                return token
            }
        }
        token.sealed = sealed(pushToken, of: report, under: entry)
        hearing.note(.changed)
        return token
    }

    private func open(_ report: Report) throws(ReportMisfit) -> PushToken {
        do throws(TokenSeal.Failure) {
            if let token = try seal.open(tokenOf: report) { return token }
        } catch {
            switch error {
            case .malformed: throw ReportMisfit(.badToken, "token \(PushToken.problem)")
            case .unknownKey, .wrongRow: throw ReportMisfit(.sealedToken, "\(error); then redrive the record")
            }
        }
        throw ReportMisfit.incomplete("token")
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

    private func announce(
        _ code: Event.Code, of token: Installation.Token, from report: Report, in hearing: inout Hearing
    ) {
        hearing.tell(
            code, attributesType: report.attributesType, activity: report.activity, group: report.group,
            tokenHash: token.hash)
    }
}

extension Installation.Token {
    /// Orders two tokens that were reported at the same time.
    fileprivate func outranks(_ other: Installation.Token) -> Bool {
        hash == other.hash ? environment.outranks(other.environment) : hash.outranks(other.hash)
    }
}

extension Installation {
    /// Returns the index of the start token of `type`. Adds an entry if the type has none.
    mutating func start(_ type: String?) -> Int {
        for index in starts.indices where starts[index].type.isExactly(type) {
            return index
        }
        starts.append(Start(type: type))
        return starts.count - 1
    }

    mutating func activity(_ id: String) -> Int {
        for index in activities.indices where activities[index].id.isExactly(id) {
            return index
        }
        activities.append(Activity(id: id))
        return activities.count - 1
    }
}
