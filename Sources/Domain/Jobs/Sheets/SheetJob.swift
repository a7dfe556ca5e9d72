/// One job of a sheet: a line of the header `to`, read in place. `JobLines` describes the columns.
package struct SheetJob: ~Escapable {
    private let line: Span<UInt8>
    /// The positions of the tabs after the token, the installation and the entry.
    private let tabs: (Int, Int, Int)
    /// The end of the recipient. The phone's major system version may follow.
    private let end: Int

    /// Returns nil if the line is not a job.
    @_lifetime(copy line)
    init?(parsing line: Span<UInt8>) {
        var tabs = (0, 0, 0)
        var end = line.count
        var tabCount = 0
        for index in line.indices where line[index] == UInt8(ascii: "\t") {
            tabCount += 1
            switch tabCount {
            case 1: tabs.0 = index
            case 2: tabs.1 = index
            case 3: tabs.2 = index
            case 4: end = index
            default: return nil
            }
        }
        let hasEmptyColumn = tabs.0 == 0 || tabs.1 <= tabs.0 + 1 || tabs.2 <= tabs.1 + 1
        guard tabCount >= 3, !hasEmptyColumn else { return nil }
        if end < line.count {
            guard ReceiptLines.systemVersion(from: line.extracting(end + 1..<line.count)) != nil else {
                return nil
            }
        }
        self.line = line
        self.tabs = tabs
        self.end = end
        guard Self.isRecipient(recipient) else { return nil }
    }

    /// Whether the text is `u:` or `i:` and at least one byte more.
    private static func isRecipient(_ text: Span<UInt8>) -> Bool {
        guard text.count > 2, text[1] == UInt8(ascii: ":") else { return false }
        return text[0] == UInt8(ascii: "u") || text[0] == UInt8(ascii: "i")
    }

    /// The token as `TokenSeal.seal` stored it, or a channel's id on a broadcast. It is a secret.
    package var token: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(0..<tabs.0) }
    }
    package var installation: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.0 + 1..<tabs.1) }
    }
    /// `start:<type>` or `update:<activity>`.
    package var entry: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.1 + 1..<tabs.2) }
    }
    /// `u:<user>` or `i:<installation>`.
    package var recipient: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.2 + 1..<end) }
    }
}
