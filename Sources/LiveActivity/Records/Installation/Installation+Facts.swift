extension Installation {
    /// All but whose it is.
    package struct Facts: Sendable, Hashable {
        package var environment: Said<Environment>?
        package var user: Said<Recipient>?
        package var os: Said<String>?
        package var appBuild: Said<String>?
        package var frequentPushesEnabled: Said<Bool>?
        package var activitiesEnabled: Said<Bool>?
        package var tags: Said<[String]>?
        package var attributes: Said<RawJSON>?
        package var locale: Said<String>?
        package var timeZone: Said<String>?
        package var starts: [Start] = []
        package var activities: [Activity] = []
        package var running: Said<[String]>?
        package var refused: [Refused] = []
        package var moved: [Moved] = []
        package var movedAt: Int64?
        package var tappedAt: Int64?
    }

    package var environment: Said<Environment>? {
        @inlinable get { facts[0].environment }
        @inlinable _modify { yield &facts[0].environment }
    }
    /// Who is logged in; the installation itself once it was said that nobody is.
    package var user: Said<Recipient>? {
        @inlinable get { facts[0].user }
        @inlinable _modify { yield &facts[0].user }
    }
    package var os: Said<String>? {
        @inlinable get { facts[0].os }
        @inlinable _modify { yield &facts[0].os }
    }
    package var appBuild: Said<String>? {
        @inlinable get { facts[0].appBuild }
        @inlinable _modify { yield &facts[0].appBuild }
    }
    package var frequentPushesEnabled: Said<Bool>? {
        @inlinable get { facts[0].frequentPushesEnabled }
        @inlinable _modify { yield &facts[0].frequentPushesEnabled }
    }
    package var activitiesEnabled: Said<Bool>? {
        @inlinable get { facts[0].activitiesEnabled }
        @inlinable _modify { yield &facts[0].activitiesEnabled }
    }
    package var tags: Said<[String]>? {
        @inlinable get { facts[0].tags }
        @inlinable _modify { yield &facts[0].tags }
    }
    package var attributes: Said<RawJSON>? {
        @inlinable get { facts[0].attributes }
        @inlinable _modify { yield &facts[0].attributes }
    }
    package var locale: Said<String>? {
        @inlinable get { facts[0].locale }
        @inlinable _modify { yield &facts[0].locale }
    }
    package var timeZone: Said<String>? {
        @inlinable get { facts[0].timeZone }
        @inlinable _modify { yield &facts[0].timeZone }
    }
    package var starts: [Start] {
        @inlinable get { facts[0].starts }
        @inlinable _modify { yield &facts[0].starts }
    }
    package var activities: [Activity] {
        @inlinable get { facts[0].activities }
        @inlinable _modify { yield &facts[0].activities }
    }
    /// The newest word on which activities run.
    package var running: Said<[String]>? {
        @inlinable get { facts[0].running }
        @inlinable _modify { yield &facts[0].running }
    }
    package var refused: [Refused] {
        @inlinable get { facts[0].refused }
        @inlinable _modify { yield &facts[0].refused }
    }
    package var moved: [Moved] {
        @inlinable get { facts[0].moved }
        @inlinable _modify { yield &facts[0].moved }
    }
    /// When it came to its present recipient from another one that had its tokens.
    package var movedAt: Int64? {
        @inlinable get { facts[0].movedAt }
        @inlinable _modify { yield &facts[0].movedAt }
    }
    /// The time of the newest tap by the phone's clock: one that is not newer is the same again.
    package var tappedAt: Int64? {
        @inlinable get { facts[0].tappedAt }
        @inlinable _modify { yield &facts[0].tappedAt }
    }
}
