internal import LiveActivity

/// What changes under the one recipient that an installation has and keeps: nearly every report. Only the
/// rows of what the report has touched are made, and compared; `RegistryChange.between` of all rows says
/// the same, and serves where a recipient is left.
struct PresentChanges {
    private let old: Installation
    private let new: Installation
    private let merge: Merge
    private var tombstones: [RegistryChange] = []
    private(set) var list: [RegistryChange] = []

    /// - Parameter old: `old.staysUnderItsRecipient(as: new)`.
    init(_ old: Installation, _ new: Installation, _ merge: Merge) {
        (self.old, self.new, self.merge) = (old, new, merge)
    }

    mutating func find(_ touched: Touched) {
        if case .installation = new.subject {
            if touched.everything {
                let facts = new.hasTokenFacts(of: old)
                findStarts(touchedOnly: facts)
                findActivities(touchedOnly: facts && new.hasSignsOfEnds(of: old))
            } else {
                findStarts(touched.starts)
                findActivities(touched.activities)
            }
        }
        findProfile(touched.everything || touched.profile)
        list += tombstones
    }

    private mutating func findStarts(_ places: Touched.Places) {
        let (oldList, newList) = (old.facts[0].starts, new.facts[0].starts)
        for place in places { findStart(place, in: newList.span, after: oldList.span, unlessSame: false) }
    }

    private mutating func findActivities(_ places: Touched.Places) {
        let (oldList, newList) = (old.facts[0].activities, new.facts[0].activities)
        for place in places { findActivity(place, in: newList.span, after: oldList.span, unlessSame: false) }
    }

    private mutating func findStarts(touchedOnly: Bool) {
        let (oldList, newList) = (old.facts[0].starts, new.facts[0].starts)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for place in news.indices { findStart(place, in: news, after: olds, unlessSame: touchedOnly) }
        for place in olds.indices {
            let kept = Self.place(near: place, in: news.count) { news[$0].type.isExactly(olds[place].type) }
            if kept == nil, old.isUsable(olds[place]) { bury(.start(type: olds[place].type)) }
        }
    }

    /// - Parameter unlessSame: nothing is to be done for one that is what it was.
    private mutating func findStart(
        _ place: Int, in news: Span<Installation.Start>, after olds: Span<Installation.Start>,
        unlessSame: Bool
    ) {
        let old = old
        let known = Self.place(near: place, in: olds.count) { olds[$0].type.isExactly(news[place].type) }
        if unlessSame, let known, olds[known] == news[place] { return }
        let entry = RegistryKey.Entry.start(type: news[place].type)
        if let row = new.row(news[place]) {
            let hash = known.flatMap { olds[$0].token?.hash }
            note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0]) } }
        } else if let known, old.isUsable(olds[known]) {
            bury(entry)
        }
    }

    private mutating func findActivities(touchedOnly: Bool) {
        let (oldList, newList) = (old.facts[0].activities, new.facts[0].activities)
        // What a span lends is not copied.
        let (olds, news) = (oldList.span, newList.span)
        for place in news.indices { findActivity(place, in: news, after: olds, unlessSame: touchedOnly) }
        for place in olds.indices {
            let kept = Self.place(near: place, in: news.count) { news[$0].id.isExactly(olds[place].id) }
            if kept == nil, old.hasRow(olds[place]) { bury(.update(activity: olds[place].id)) }
        }
    }

    /// - Parameter unlessSame: nothing is to be done for one that is what it was.
    private mutating func findActivity(
        _ place: Int, in news: Span<Installation.Activity>, after olds: Span<Installation.Activity>,
        unlessSame: Bool
    ) {
        let (old, merge) = (old, merge)
        let known = Self.place(near: place, in: olds.count) { olds[$0].id.isExactly(news[place].id) }
        if unlessSame, let known, news[place].isExactly(olds[known]) { return }
        let entry = RegistryKey.Entry.update(activity: news[place].id)
        if let row = new.row(news[place], merge.app) {
            let hash = known.flatMap { olds[$0].token?.hash }
            note(row, at: entry, afterTokenOf: hash) { known.flatMap { old.row(olds[$0], merge.app) } }
        } else if let known, old.hasRow(olds[known]) {
            bury(entry)
        }
    }

    /// - Parameter isTouched: more than its time may have changed.
    private mutating func findProfile(_ isTouched: Bool) {
        let (before, now) = (old.profileUpdatedAt, new.profileUpdatedAt)
        let isSame = !isTouched || new.hasProfile(of: old)
        if now == before, isSame { return }
        guard let now else {
            if before != nil { bury(.profile) }
            return
        }
        if before != nil, isSame, !Grain.isCrossed(Grain.heartbeatMilliseconds, from: before, to: now) {
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
            !RegistryChange.isNews(row, after: old, merge.grain)
        {
            return
        }
        row.movedAt = new.movedAt
        list.append(change(entry, .token(consume row)))
    }

    private mutating func bury(_ entry: RegistryKey.Entry) { tombstones.append(change(entry, nil)) }

    private func change(
        _ entry: consuming RegistryKey.Entry, _ row: consuming RegistryRow?
    ) -> RegistryChange {
        var installation: String?
        if case .installation(let id) = new.subject { installation = id }
        let key = RegistryKey(
            app: merge.app.id, recipient: new.recipient, installation: installation, entry: entry)
        return RegistryChange(key: consume key, row: consume row)
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
        facts[0].moved.isEmpty && new.facts[0].moved.isEmpty && facts[0].movedAt == new.facts[0].movedAt
            && facts[0].user?.value == new.facts[0].user?.value
    }

    /// Whether what the row of every token depends on is what it was.
    fileprivate func hasTokenFacts(of old: Installation) -> Bool {
        facts[0].environment?.value == old.facts[0].environment?.value
            && (facts[0].os?.value).isExactly(old.facts[0].os?.value)
            && facts[0].frequentPushesEnabled?.value == old.facts[0].frequentPushesEnabled?.value
            && facts[0].activitiesEnabled?.value == old.facts[0].activitiesEnabled?.value
            && facts[0].refused == old.facts[0].refused
    }

    /// Whether everything that ends an activity, but for what is said of that activity, is what it was.
    fileprivate func hasSignsOfEnds(of old: Installation) -> Bool {
        let (olds, news) = (old.facts[0].starts, facts[0].starts)
        return facts[0].running == old.facts[0].running && olds.count == news.count
            && news.indices.allSatisfy {
                news[$0].unregisteredAt == olds[$0].unregisteredAt && news[$0].type.isExactly(olds[$0].type)
            }
    }

    /// But for its time.
    fileprivate func hasProfile(of old: Installation) -> Bool {
        (facts[0].tags?.value ?? []).isExactly(old.facts[0].tags?.value ?? [])
            && facts[0].attributes?.value == old.facts[0].attributes?.value
            && (facts[0].locale?.value).isExactly(old.facts[0].locale?.value)
            && (facts[0].timeZone?.value).isExactly(old.facts[0].timeZone?.value)
            && (facts[0].os?.value).isExactly(old.facts[0].os?.value)
            && (facts[0].appBuild?.value).isExactly(old.facts[0].appBuild?.value)
    }
}

extension Installation.Activity {
    fileprivate func isExactly(_ old: Installation.Activity) -> Bool {
        self == old && (type?.value).isExactly(old.type?.value) && (group?.value).isExactly(old.group?.value)
            && (channel?.value).isExactly(old.channel?.value)
    }
}
