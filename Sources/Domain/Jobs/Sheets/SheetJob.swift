/// One job of a sheet: a line of the header `to`, read in place. `JobLines` describes the columns.
package struct SheetJob: ~Escapable {
    private let line: Span<UInt8>
    /// The positions of the tabs behind three columns.
    private let tabs: Tabs
    /// The end of the recipient. The phone's major system version may follow.
    private let end: Int

    private typealias Tabs = (afterToken: Int, afterInstallation: Int, afterEntry: Int)

    /// Returns nil if the line is not a job.
    @_lifetime(copy line)
    init?(parsing line: Span<UInt8>) {
        var tabs: Tabs = (0, 0, 0)
        var end = line.count
        var tabCount = 0
        for index in line.indices where line[index] == UInt8(ascii: "\t") {
            tabCount += 1
            switch tabCount {
            case 1: tabs.afterToken = index
            case 2: tabs.afterInstallation = index
            case 3: tabs.afterEntry = index
            // The system version follows.
            case 4: end = index
            default: return nil
            }
        }
        let hasEmptyColumn =
            tabs.afterToken == 0 || tabs.afterInstallation <= tabs.afterToken + 1
            || tabs.afterEntry <= tabs.afterInstallation + 1
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
        @_lifetime(copy self) get { line.extracting(0..<tabs.afterToken) }
    }
    package var installation: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.afterToken + 1..<tabs.afterInstallation) }
    }
    /// `start:<type>` or `update:<activity>`.
    package var entry: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.afterInstallation + 1..<tabs.afterEntry) }
    }
    /// `u:<user>` or `i:<installation>`.
    package var recipient: Span<UInt8> {
        @_lifetime(copy self) get { line.extracting(tabs.afterEntry + 1..<end) }
    }
}
