package import Identifiers

/// The rows that one read of a lane returns, in a reusable buffer. `Lane.fillPage` fills it, and the caller
/// reads it in place. All texts are in one buffer, in the form that jobs need.
package struct TokenPage: ~Copyable {
    package static let rowsMaxDefault = 1000

    /// One row: its numbers, and the positions of its texts in `text`.
    struct Entry {
        /// The row's own texts are adjacent and start here, in the order of `ends`.
        var start = 0
        var ends = (recipient: 0, installation: 0, entry: 0, token: 0, hash: 0, channel: 0)
        /// The texts that the row may share with earlier rows.
        var group = 0..<0
        var type = 0..<0
        var registeredAt: Int64 = 0
        var movedAt: Int64?
        var dismissedAt: Int64?
        /// The flags of the row's value (`TokenValue.Flag`).
        var flags: UInt8 = 0
        var os: OSVersion?
        /// Whether the installation is its own recipient. Its name is then the recipient's text behind `i:`.
        var isOwnRecipient = false
        var hasGroup = false
        var hasType = false
        var hasChannel = false
        var isUnproven = false
    }

    var text = PageText()
    var entries: [Entry] = []
    /// The numbers of rows that were examined and left out.
    package internal(set) var exclusions = ExclusionCounts()

    package init() {}

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    package mutating func removeAll() {
        text.removeAll()
        entries.removeAll(keepingCapacity: true)
        exclusions.removeAll()
    }

    package subscript(index: Int) -> TokenPageRow {
        @_lifetime(borrow self)
        get { TokenPageRow(bytes: text.span, entry: entries[index]) }
    }
}

/// One row of a page, read in place: a push token, its recipient, and the facts that a job needs.
package struct TokenPageRow: ~Escapable {
    /// The length of `u:` or `i:`.
    private static let recipientKindBytes = 2

    /// The texts of the page.
    private let bytes: Span<UInt8>
    private let entry: TokenPage.Entry

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, entry: TokenPage.Entry) {
        self.bytes = bytes
        self.entry = entry
    }

    /// `u:<user>` or `i:<installation>`.
    package var recipient: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.start..<entry.ends.recipient) }
    }
    package var installation: Span<UInt8> {
        @_lifetime(copy self)
        get {
            entry.isOwnRecipient
                ? bytes.extracting(entry.start + Self.recipientKindBytes..<entry.ends.recipient)
                : bytes.extracting(entry.ends.recipient..<entry.ends.installation)
        }
    }
    /// `start:<type>` or `update:<activity>`.
    package var entryText: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.installation..<entry.ends.entry) }
    }
    /// The token as `TokenSeal` stored it: sealed, or as hexadecimal digits. It is a secret.
    package var token: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.entry..<entry.ends.token) }
    }
    /// The bytes of `TokenSeal.hash`.
    package var tokenHash: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.token..<entry.ends.hash) }
    }
    package var group: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasGroup ? bytes.extracting(entry.group) : nil }
    }
    /// Nil for a start token for every type, and for an update token of unknown type.
    package var attributesType: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasType ? bytes.extracting(entry.type) : nil }
    }
    package var channel: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasChannel ? bytes.extracting(entry.ends.hash..<entry.ends.channel) : nil }
    }
    package var environment: Environment {
        entry.flags & TokenValue.Flag.sandbox == 0 ? .production : .sandbox
    }
    /// Nil if the phone has not reported it.
    package var frequentPushesEnabled: Bool? {
        guard entry.flags & TokenValue.Flag.frequentPushesKnown != 0 else { return nil }
        return entry.flags & TokenValue.Flag.frequentPushes != 0
    }
    package var os: OSVersion? { entry.os }
    /// Whether APNs has not accepted the token yet, as far as is known.
    package var isUnproven: Bool { entry.isUnproven }
    // Times are milliseconds since 1970.
    package var registeredAt: Int64 { entry.registeredAt }
    /// The time at which the installation came to this recipient, or left it if `hasMovedAway`.
    package var movedAt: Int64? { entry.movedAt }
    /// The time of the dismissal. The row has no token then.
    package var dismissedAt: Int64? { entry.dismissedAt }
    package var hasMovedAway: Bool { entry.flags & TokenValue.Flag.movedAway != 0 }
}
