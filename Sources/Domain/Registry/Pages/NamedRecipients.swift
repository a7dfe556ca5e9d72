package import LiveActivity

/// Named recipients in the order of a lane. They are built once per send and used for each page. Names of
/// other lanes may be among them, and each costs one lookup.
package struct NamedRecipients: Sendable, Hashable {
    /// The codes of the names. No code is a prefix of another.
    let codes: [[UInt8]]

    /// - Parameter recipients: At most `Audience.namesMax`. Invalid names are ignored.
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

    /// Returns the index of the first recipient that has a row at or after the key.
    func firstIndex(from key: [UInt8]) -> Int {
        let above = firstIndex(above: key)
        return above > 0 && key.starts(with: codes[above - 1]) ? above - 1 : above
    }

    /// Whether a part of a key starts with one of the codes.
    func contains(_ part: Span<UInt8>) -> Bool {
        let code = Array(part.extracting(0..<RecipientCode.end(in: part)))
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
