public import Identifiers
public import JSON
public import RecordFormat

extension Installation {
    /// All fields of an installation except the app and the subject. They are the only element of the array `fields`,
    /// which is copied on write. The accessors below document them.
    @usableFromInline package struct Fields: Sendable, Hashable {
        @usableFromInline package var environment: Maybe<Timestamped<Environment>>
        @usableFromInline package var user: Maybe<Timestamped<Recipient>>
        @usableFromInline package var os: Maybe<Timestamped<String>>
        @usableFromInline package var appBuild: Maybe<Timestamped<String>>
        @usableFromInline package var frequentPushesEnabled: Maybe<Timestamped<Bool>>
        @usableFromInline package var activitiesEnabled: Maybe<Timestamped<Bool>>
        @usableFromInline package var tags: Maybe<Timestamped<[String]>>
        @usableFromInline package var attributes: Maybe<Timestamped<RawJSON>>
        @usableFromInline package var locale: Maybe<Timestamped<String>>
        @usableFromInline package var timeZone: Maybe<Timestamped<String>>
        @usableFromInline package var startTokens: [StartToken]
        @usableFromInline package var activities: [Activity]
        @usableFromInline package var runningActivities: Maybe<Timestamped<[String]>>
        @usableFromInline package var refusedTokens: [RefusedToken]
        @usableFromInline package var formerRecipients: [FormerRecipient]
        @usableFromInline package var movedAt: Maybe<Int64>
        @usableFromInline package var taps: [Tap]
        @usableFromInline package var tapsPrunedUpTo: Maybe<Int64>
        @usableFromInline package var erasedUpTo: Maybe<ReportTime>

        package init() {
            (environment, user, os, appBuild) = (nil, nil, nil, nil)
            (frequentPushesEnabled, activitiesEnabled) = (nil, nil)
            (tags, attributes, locale, timeZone) = (nil, nil, nil, nil)
            (startTokens, activities, runningActivities, refusedTokens) = ([], [], nil, [])
            (formerRecipients, movedAt, taps, tapsPrunedUpTo, erasedUpTo) = ([], nil, [], nil, nil)
        }
    }

    // Each property has its own accessors, because a merge through key paths took four times as long.
    // `@inlinable` lets other modules inline them. This needs `@usableFromInline` types. Without inlining, a
    // merge took a sixth longer.
    @inlinable package var environment: Timestamped<Environment>? {
        _read { yield fields[0].environment }
        _modify { yield &fields[0].environment }
    }
    /// The logged-in user, or the installation itself after a reported logout.
    @inlinable package var user: Timestamped<Recipient>? {
        _read { yield fields[0].user }
        _modify { yield &fields[0].user }
    }
    @inlinable package var os: Timestamped<String>? {
        _read { yield fields[0].os }
        _modify { yield &fields[0].os }
    }
    @inlinable package var appBuild: Timestamped<String>? {
        _read { yield fields[0].appBuild }
        _modify { yield &fields[0].appBuild }
    }
    @inlinable package var frequentPushesEnabled: Timestamped<Bool>? {
        _read { yield fields[0].frequentPushesEnabled }
        _modify { yield &fields[0].frequentPushesEnabled }
    }
    @inlinable package var activitiesEnabled: Timestamped<Bool>? {
        _read { yield fields[0].activitiesEnabled }
        _modify { yield &fields[0].activitiesEnabled }
    }
    @inlinable package var tags: Timestamped<[String]>? {
        _read { yield fields[0].tags }
        _modify { yield &fields[0].tags }
    }
    @inlinable package var attributes: Timestamped<RawJSON>? {
        _read { yield fields[0].attributes }
        _modify { yield &fields[0].attributes }
    }
    @inlinable package var locale: Timestamped<String>? {
        _read { yield fields[0].locale }
        _modify { yield &fields[0].locale }
    }
    @inlinable package var timeZone: Timestamped<String>? {
        _read { yield fields[0].timeZone }
        _modify { yield &fields[0].timeZone }
    }
    @inlinable package var startTokens: [StartToken] {
        _read { yield fields[0].startTokens }
        _modify { yield &fields[0].startTokens }
    }
    @inlinable package var activities: [Activity] {
        _read { yield fields[0].activities }
        _modify { yield &fields[0].activities }
    }
    /// The newest list of running activities.
    @inlinable package var runningActivities: Timestamped<[String]>? {
        _read { yield fields[0].runningActivities }
        _modify { yield &fields[0].runningActivities }
    }
    @inlinable package var refusedTokens: [RefusedToken] {
        _read { yield fields[0].refusedTokens }
        _modify { yield &fields[0].refusedTokens }
    }
    @inlinable package var formerRecipients: [FormerRecipient] {
        _read { yield fields[0].formerRecipients }
        _modify { yield &fields[0].formerRecipients }
    }
    /// The time at which the installation moved to its current recipient from another one that had its
    /// tokens.
    @inlinable package var movedAt: Int64? {
        _read { yield fields[0].movedAt }
        _modify { yield &fields[0].movedAt }
    }
    @inlinable package var taps: [Tap] {
        _read { yield fields[0].taps }
        _modify { yield &fields[0].taps }
    }
    /// The time by the phone's clock up to which single taps are no longer stored. No tap up to it is
    /// published again.
    @inlinable package var tapsPrunedUpTo: Int64? {
        _read { yield fields[0].tapsPrunedUpTo }
        _modify { yield &fields[0].tapsPrunedUpTo }
    }
    /// The time up to which all facts are erased. It is kept for as long as older reports can arrive.
    @inlinable package var erasedUpTo: ReportTime? {
        _read { yield fields[0].erasedUpTo }
        _modify { yield &fields[0].erasedUpTo }
    }
}
