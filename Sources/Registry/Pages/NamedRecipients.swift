package import LiveActivity

/// Recipients by name, in the order in which a lane has them: made once for a send, and asked for each
/// page. Names of other lanes may be among them; each costs a look.
package struct NamedRecipients: Sendable, Hashable {
    /// No code begins another.
    let codes: [[UInt8]]

    /// - Parameter recipients: at most `Audience.namesMax`; what can be no name names nobody.
    package init(_ recipients: [Recipient]) {
        var codes: [[UInt8]] = []
        codes.reserveCapacity(recipients.count)
        for recipient in recipients {
            var code: [UInt8] = []
            if RecipientCode.append(recipient, to: &code) { codes.append(code) }
        }
        codes.sort { $0.lexicographicallyPrecedes($1) }
        self.codes = codes.reduce(into: []) { unique, code in
            if unique.last != code { unique.append(code) }
        }
    }

    /// The first whose rows are not all before a key.
    func index(from key: [UInt8]) -> Int {
        let above = firstIndex(above: key)
        return above > 0 && key.starts(with: codes[above - 1]) ? above - 1 : above
    }

    /// Whether a key's part begins with one of them.
    func contains(_ part: Span<UInt8>) -> Bool {
        let code = Array(part.extracting(0..<RecipientCode.end(part)))
        let above = firstIndex(above: code)
        return above > 0 && codes[above - 1] == code
    }

    private func firstIndex(above key: [UInt8]) -> Int {
        var (low, high) = (0, codes.count)
        while low < high {
            let middle = (low + high) / 2
            if key.lexicographicallyPrecedes(codes[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
