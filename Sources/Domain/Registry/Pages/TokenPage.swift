package import Identifiers

/// The rows that one read of a lane returns, in a reusable buffer. `Lane.fillPage` fills it, and the caller
/// reads it in place. All texts are in one buffer, in the form that jobs need.
package struct TokenPage: ~Copyable {
    /// The rows of a page, unless the caller of `Lane.fillPage` says otherwise.
    package static let rowsMaxDefault = 1000

    /// One row: its numbers, and the positions of its texts in `text`. Times are milliseconds since 1970.
    struct RowLayout {
        /// The row's own texts are adjacent and start here, in the order of `ends`. An absent text is empty: it ends
        /// where the one before it ends.
        var start = 0
        /// The ends of the texts. `entry` is the text `start:<type>` or `update:<activity>`.
        var ends = (recipient: 0, installation: 0, entry: 0, token: 0, hash: 0, channel: 0)
        /// The texts that the row may share with earlier rows.
        var group: Range<Int>?
        var type: Range<Int>?
        var registeredAt: Int64 = 0
        var movedAt: Int64?
        var dismissedAt: Int64?
        /// The flags of the row's value (`TokenValue.Flag`).
        var flags: UInt8 = 0
        var os: OSVersion?
        /// Whether the installation is its own recipient. Its name is then the recipient's text behind `i:`.
        var isOwnRecipient = false
        var hasChannel = false
        /// Not in `flags`, whose eight bits are used.
        var isUnproven = false
    }

    var text = PageText()
    var rows: [RowLayout] = []
    /// The numbers of rows that were examined and left out.
    package internal(set) var exclusions = ExclusionCounts()

    package init() {}

    package var count: Int { rows.count }
    package var isEmpty: Bool { rows.isEmpty }

    package mutating func removeAll() {
        text.removeAll()
        rows.removeAll(keepingCapacity: true)
        exclusions.removeAll()
    }

    package subscript(index: Int) -> TokenPageRow {
        @_lifetime(borrow self)
        get { TokenPageRow(bytes: text.span, layout: rows[index]) }
    }
}

/// One row of a page, read in place: a push token, its recipient, and the facts that a job needs.
package struct TokenPageRow: ~Escapable {
    /// The length of `u:` or `i:`.
    private static let recipientKindBytes = 2

    /// The texts of the page.
    private let bytes: Span<UInt8>
    private let layout: TokenPage.RowLayout

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, layout: TokenPage.RowLayout) {
        self.bytes = bytes
        self.layout = layout
    }

    /// `u:<user>` or `i:<installation>`.
    package var recipient: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(layout.start..<layout.ends.recipient) }
    }
    package var installation: Span<UInt8> {
        @_lifetime(copy self)
        get {
            layout.isOwnRecipient
                ? bytes.extracting(layout.start + Self.recipientKindBytes..<layout.ends.recipient)
                : bytes.extracting(layout.ends.recipient..<layout.ends.installation)
        }
    }
    /// `start:<type>` or `update:<activity>`.
    package var entryText: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(layout.ends.installation..<layout.ends.entry) }
    }
    /// The activity's id. Nil for a row of a start token.
    package var activity: String? {
        let entry = entryText
        guard entry.count > PageFiller.updatePrefix.count, entry[0] == UInt8(ascii: "u") else { return nil }
        let id = entry.extracting(PageFiller.updatePrefix.count..<entry.count)
        return unsafe id.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
    /// The token as `TokenSeal` stored it: sealed, or as hexadecimal digits. It is a secret.
    package var token: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(layout.ends.entry..<layout.ends.token) }
    }
    /// The bytes of `TokenSeal.hash`.
    package var tokenHash: Span<UInt8> {
        @_lifetime(copy self) get { bytes.extracting(layout.ends.token..<layout.ends.hash) }
    }
    package var group: Span<UInt8>? {
        @_lifetime(copy self)
        get { if let range = layout.group { bytes.extracting(range) } else { nil } }
    }
    /// Nil for a start token for every type, and for an update token of unknown type.
    package var attributesType: Span<UInt8>? {
        @_lifetime(copy self)
        get { if let range = layout.type { bytes.extracting(range) } else { nil } }
    }
    /// The broadcast channel of the activity, if it has one.
    package var channel: Span<UInt8>? {
        @_lifetime(copy self)
        get { layout.hasChannel ? bytes.extracting(layout.ends.hash..<layout.ends.channel) : nil }
    }
    package var environment: Environment {
        layout.flags & TokenValue.Flag.sandbox == 0 ? .production : .sandbox
    }
    /// Nil if the phone has not reported it.
    package var frequentPushesEnabled: Bool? {
        guard layout.flags & TokenValue.Flag.frequentPushesKnown != 0 else { return nil }
        return layout.flags & TokenValue.Flag.frequentPushes != 0
    }
    package var os: OSVersion? { layout.os }
    /// Whether APNs has not accepted the token yet, as far as is known.
    package var isUnproven: Bool { layout.isUnproven }
    /// The times of a row are milliseconds since 1970.
    package var registeredAt: Int64 { layout.registeredAt }
    /// The time at which the installation came to this recipient, or left it if `hasMovedAway`.
    package var movedAt: Int64? { layout.movedAt }
    /// The time of the dismissal. The row has no token then.
    package var dismissedAt: Int64? { layout.dismissedAt }
    package var hasMovedAway: Bool { layout.flags & TokenValue.Flag.movedAway != 0 }
}
