extension Installation {
    /// All fields except the app and the subject.
    @usableFromInline package struct Facts: Sendable, Hashable {
        @usableFromInline package var environment: Maybe<Said<Environment>>
        @usableFromInline package var user: Maybe<Said<Recipient>>
        @usableFromInline package var os: Maybe<Said<String>>
        @usableFromInline package var appBuild: Maybe<Said<String>>
        @usableFromInline package var frequentPushesEnabled: Maybe<Said<Bool>>
        @usableFromInline package var activitiesEnabled: Maybe<Said<Bool>>
        @usableFromInline package var tags: Maybe<Said<[String]>>
        @usableFromInline package var attributes: Maybe<Said<RawJSON>>
        @usableFromInline package var locale: Maybe<Said<String>>
        @usableFromInline package var timeZone: Maybe<Said<String>>
        @usableFromInline package var starts: [Start]
        @usableFromInline package var activities: [Activity]
        @usableFromInline package var running: Maybe<Said<[String]>>
        @usableFromInline package var refused: [RefusedToken]
        @usableFromInline package var moved: [Moved]
        @usableFromInline package var movedAt: Maybe<Int64>
        @usableFromInline package var taps: [Tap]
        @usableFromInline package var tappedAt: Maybe<Int64>
        @usableFromInline package var erasedAt: Maybe<ReportTime>

        package init() {
            (environment, user, os, appBuild) = (nil, nil, nil, nil)
            (frequentPushesEnabled, activitiesEnabled) = (nil, nil)
            (tags, attributes, locale, timeZone) = (nil, nil, nil, nil)
            (starts, activities, running, refused) = ([], [], nil, [])
            (moved, movedAt, taps, tappedAt, erasedAt) = ([], nil, [], nil, nil)
        }
    }

    // Each property has its own accessors, because a merge through key paths took four times as long.
    // `@inlinable` lets other modules inline them. This needs `@usableFromInline` types. Without inlining, a
    // merge took a sixth longer.
    @inlinable package var environment: Said<Environment>? {
        _read { yield facts[0].environment }
        _modify { yield &facts[0].environment }
    }
    /// The logged-in user, or the installation itself after a reported logout.
    @inlinable package var user: Said<Recipient>? {
        _read { yield facts[0].user }
        _modify { yield &facts[0].user }
    }
    @inlinable package var os: Said<String>? {
        _read { yield facts[0].os }
        _modify { yield &facts[0].os }
    }
    @inlinable package var appBuild: Said<String>? {
        _read { yield facts[0].appBuild }
        _modify { yield &facts[0].appBuild }
    }
    @inlinable package var frequentPushesEnabled: Said<Bool>? {
        _read { yield facts[0].frequentPushesEnabled }
        _modify { yield &facts[0].frequentPushesEnabled }
    }
    @inlinable package var activitiesEnabled: Said<Bool>? {
        _read { yield facts[0].activitiesEnabled }
        _modify { yield &facts[0].activitiesEnabled }
    }
    @inlinable package var tags: Said<[String]>? {
        _read { yield facts[0].tags }
        _modify { yield &facts[0].tags }
    }
    @inlinable package var attributes: Said<RawJSON>? {
        _read { yield facts[0].attributes }
        _modify { yield &facts[0].attributes }
    }
    @inlinable package var locale: Said<String>? {
        _read { yield facts[0].locale }
        _modify { yield &facts[0].locale }
    }
    @inlinable package var timeZone: Said<String>? {
        _read { yield facts[0].timeZone }
        _modify { yield &facts[0].timeZone }
    }
    @inlinable package var starts: [Start] {
        _read { yield facts[0].starts }
        _modify { yield &facts[0].starts }
    }
    @inlinable package var activities: [Activity] {
        _read { yield facts[0].activities }
        _modify { yield &facts[0].activities }
    }
    /// The newest list of running activities.
    @inlinable package var running: Said<[String]>? {
        _read { yield facts[0].running }
        _modify { yield &facts[0].running }
    }
    @inlinable package var refused: [RefusedToken] {
        _read { yield facts[0].refused }
        _modify { yield &facts[0].refused }
    }
    @inlinable package var moved: [Moved] {
        _read { yield facts[0].moved }
        _modify { yield &facts[0].moved }
    }
    /// The time at which the installation moved to its present recipient from another one that had its
    /// tokens.
    @inlinable package var movedAt: Int64? {
        _read { yield facts[0].movedAt }
        _modify { yield &facts[0].movedAt }
    }
    @inlinable package var taps: [Tap] {
        _read { yield facts[0].taps }
        _modify { yield &facts[0].taps }
    }
    /// The time by the phone's clock up to which single taps are no longer stored. No tap up to it is
    /// published again.
    @inlinable package var tappedAt: Int64? {
        _read { yield facts[0].tappedAt }
        _modify { yield &facts[0].tappedAt }
    }
    /// The time up to which all facts are erased. It is kept for as long as older reports can arrive.
    @inlinable package var erasedAt: ReportTime? {
        _read { yield facts[0].erasedAt }
        _modify { yield &facts[0].erasedAt }
    }
}
