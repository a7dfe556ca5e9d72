internal import LiveActivity

/// What changes under the one recipient that an installation has and keeps: nearly every report. Only the
/// rows of what the report has touched are made, and compared; `RegistryChange.between` of all rows says
/// the same, and serves where a recipient is left.
struct PresentChanges {
    private let old: Installation
    private let new: Installation
    private let app: App
    private let grain: Grain
    private var tombstones: [RegistryChange] = []
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: `old.staysUnderItsRecipient(as: new)`.
    init(_ old: Installation, _ new: Installation, _ app: App, _ grain: Grain) {
        (self.old, self.new, self.app, self.grain) = (old, new, app, grain)
    }

    mutating func find() {
        if case .installation = new.subject {
            let facts = new.hasTokenFacts(of: old)
            findStarts(touchedOnly: facts)
            findActivities(touchedOnly: facts && new.hasSignsOfEnds(of: old))
        }
        findProfile()
        list += tombstones
    }

    private mutating func findStarts(touchedOnly: Bool) {
        let (old, oldList, newList) = (old, old.starts, new.starts)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for place in news.indices {
            let known = Self.place(near: place, in: olds.count) { olds[$0].type.isExactly(news[place].type) }
            if touchedOnly, let known, olds[known] == news[place] { continue }
            let entry = RegistryKey.Entry.start(type: news[place].type)
            if let row = new.row(news[place]) {
                let hash = known.flatMap { olds[$0].token?.hash }
                note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0]) } }
            } else if let known, old.isUsable(olds[known]) {
                bury(entry)
            }
        }
        for place in olds.indices {
            let kept = Self.place(near: place, in: news.count) { news[$0].type.isExactly(olds[place].type) }
            if kept == nil, old.isUsable(olds[place]) { bury(.start(type: olds[place].type)) }
        }
    }

    private mutating func findActivities(touchedOnly: Bool) {
        let (old, app, oldList, newList) = (old, app, old.activities, new.activities)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for place in news.indices {
            let known = Self.place(near: place, in: olds.count) { olds[$0].id.isExactly(news[place].id) }
            if touchedOnly, let known, news[place].isExactly(olds[known]) { continue }
            let entry = RegistryKey.Entry.update(activity: news[place].id)
            if let row = new.row(news[place], app) {
                let hash = known.flatMap { olds[$0].token?.hash }
                note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0], app) } }
            } else if let known, old.hasRow(olds[known]) {
                bury(entry)
            }
        }
        for place in olds.indices {
            let kept = Self.place(near: place, in: news.count) { news[$0].id.isExactly(olds[place].id) }
            if kept == nil, old.hasRow(olds[place]) { bury(.update(activity: olds[place].id)) }
        }
    }

    private mutating func findProfile() {
        let (before, now) = (old.profileUpdatedAt, new.profileUpdatedAt)
        if now == before, new.hasProfile(of: old) { return }
        guard let now else {
            if before != nil { bury(.profile) }
            return
        }
        if before != nil, new.hasProfile(of: old),
            !Grain.isCrossed(Grain.heartbeatMilliseconds, from: before, to: now)
        {
            return
        }
        list.append(change(.profile, new.profileRow.map(RegistryRow.profile)))
    }

    /// - Parameters:
    ///   - oldHash: of the token that the entry had; another token is news, whatever its row was.
    ///   - old: the row that the entry had, made only when it matters.
    private mutating func note(
        _ row: consuming TokenRow, at entry: consuming RegistryKey.Entry, afterTokenOf oldHash: String?,
        old: () -> TokenRow?
    ) {
        if row.tokenHash.isEmpty || row.tokenHash == oldHash, let old = old(),
            !RegistryChange.isNews(row, after: old, grain)
        {
            return
        }
        row.movedAt = new.movedAt
        list.append(change(entry, .token(row)))
    }

    private mutating func bury(_ entry: RegistryKey.Entry) { tombstones.append(change(entry, nil)) }

    private func change(
        _ entry: consuming RegistryKey.Entry, _ row: consuming RegistryRow?
    ) -> RegistryChange {
        var installation: String?
        if case .installation(let id) = new.subject { installation = id }
        let key = RegistryKey(
            app: app.id, recipient: new.recipient, installation: installation, entry: entry)
        return RegistryChange(key: key, row: row)
    }

    /// It mostly stands where it stood.
    private static func place(near guess: Int, in count: Int, _ isIt: (Int) -> Bool) -> Int? {
        if guess < count, isIt(guess) { return guess }
        return (0..<count).first(where: isIt)
    }
}

extension Installation {
    /// Whether there is one recipient before and after, and its rows say the same of moves.
    func staysUnderItsRecipient(as new: Installation) -> Bool {
        moved.isEmpty && new.moved.isEmpty && movedAt == new.movedAt && recipient == new.recipient
    }

    /// Whether what the row of every token depends on is what it was.
    fileprivate func hasTokenFacts(of old: Installation) -> Bool {
        environment?.value == old.environment?.value && (os?.value).isExactly(old.os?.value)
            && frequentPushesEnabled?.value == old.frequentPushesEnabled?.value
            && activitiesEnabled?.value == old.activitiesEnabled?.value && refused == old.refused
    }

    /// Whether everything that ends an activity, but for what is said of that activity, is what it was.
    fileprivate func hasSignsOfEnds(of old: Installation) -> Bool {
        let (olds, news) = (old.starts, starts)
        return running == old.running && olds.count == news.count
            && news.indices.allSatisfy {
                news[$0].unregisteredAt == olds[$0].unregisteredAt && news[$0].type.isExactly(olds[$0].type)
            }
    }

    /// But for its time.
    fileprivate func hasProfile(of old: Installation) -> Bool {
        (tags?.value ?? []).isExactly(old.tags?.value ?? []) && attributes?.value == old.attributes?.value
            && (locale?.value).isExactly(old.locale?.value)
            && (timeZone?.value).isExactly(old.timeZone?.value)
            && (os?.value).isExactly(old.os?.value) && (appBuild?.value).isExactly(old.appBuild?.value)
    }
}

extension Installation.Activity {
    fileprivate func isExactly(_ old: Installation.Activity) -> Bool {
        self == old && (type?.value).isExactly(old.type?.value) && (group?.value).isExactly(old.group?.value)
            && (channel?.value).isExactly(old.channel?.value)
    }
}
