package import LiveActivity

/// Rows of a selection in a reusable buffer. `Lane.page` fills it, and the caller reads it in place. The
/// texts are adjacent in one buffer, in the form that jobs need.
package struct TokenPage: ~Copyable {
    package static let rowsMaxDefault = 1000

    struct Entry {
        /// The ends of the entry's own texts: recipient, installation, entry, token, hash, channel. The first
        /// text starts at `start`.
        var start = 0
        var ends = (0, 0, 0, 0, 0, 0)
        /// Texts that it shares with earlier rows.
        var group = 0..<0
        var type = 0..<0
        var registeredAt: Int64 = 0
        var movedAt: Int64?
        var dismissedAt: Int64?
        var flags: UInt8 = 0
        var os: OSVersion?
        /// Whether the installation's text is the recipient's text behind `i:`.
        var isOwnRecipient = false
        var hasGroup = false
        var hasType = false
        var hasChannel = false
    }

    var text = PageText()
    var entries: [Entry] = []
    /// The rows that the page examined and left out.
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

/// One row of a page, read in place.
package struct TokenPageRow: ~Escapable {
    private let bytes: Span<UInt8>
    private let entry: TokenPage.Entry

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, entry: TokenPage.Entry) {
        self.bytes = bytes
        self.entry = entry
    }

    /// `u:<user>` or `i:<installation>`.
    package var recipient: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.start..<entry.ends.0) }
    }
    package var installation: Span<UInt8> {
        @_lifetime(copy self)
        get {
            entry.isOwnRecipient
                ? bytes.extracting(entry.start + 2..<entry.ends.0)
                : bytes.extracting(entry.ends.0..<entry.ends.1)
        }
    }
    /// `start:<type>` or `update:<activity>`.
    package var entryText: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.1..<entry.ends.2) }
    }
    /// The token in the form of `TokenSeal`. It is a secret.
    package var token: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.2..<entry.ends.3) }
    }
    /// The bytes of `TokenSeal.hash`.
    package var tokenHash: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(entry.ends.3..<entry.ends.4) }
    }
    package var group: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasGroup ? bytes.extracting(entry.group) : nil }
    }
    /// Nil for a start token for all types.
    package var attributesType: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasType ? bytes.extracting(entry.type) : nil }
    }
    package var channel: Span<UInt8>? {
        @_lifetime(copy self)
        get { entry.hasChannel ? bytes.extracting(entry.ends.4..<entry.ends.5) : nil }
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
    package var registeredAt: Int64 { entry.registeredAt }
    /// The time at which the installation came to this recipient, or left it if `hasMovedAway`.
    package var movedAt: Int64? { entry.movedAt }
    /// The time of the dismissal. The row has no token then.
    package var dismissedAt: Int64? { entry.dismissedAt }
    package var hasMovedAway: Bool { entry.flags & TokenValue.Flag.movedAway != 0 }
}
