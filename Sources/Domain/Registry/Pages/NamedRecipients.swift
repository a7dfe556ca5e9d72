package import Identifiers

/// A list of recipients that a selection names, in the order of a lane's keys. It is built once per send and
/// used for each page. Recipients of other lanes may be among them, and each costs one lookup.
package struct NamedRecipients: Sendable, Hashable {
    /// The codes of the recipients (`RecipientCode`), sorted and unique. No code is a prefix of another.
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

    /// Returns the index of the first recipient that may have rows at the key or after it.
    ///
    /// - Parameter key: A part of a key that starts with a recipient.
    func firstIndex(from key: [UInt8]) -> Int {
        let indexAbove = firstIndex(above: key)
        // The key may lie among the rows of the recipient before it.
        return indexAbove > 0 && key.starts(with: codes[indexAbove - 1]) ? indexAbove - 1 : indexAbove
    }

    /// Whether the list has the recipient with which the part of a key begins.
    func contains(recipientOf part: Span<UInt8>) -> Bool {
        let code = Array(part.extracting(first: RecipientCode.length(atStartOf: part)))
        let indexAbove = firstIndex(above: code)
        return indexAbove > 0 && codes[indexAbove - 1] == code
    }

    /// Returns the index of the first code that sorts after the key, by binary search.
    private func firstIndex(above key: [UInt8]) -> Int {
        var (low, high) = (0, codes.count)
        while low < high {
            let middle = (low + high) / 2
            if key.lexicographicallyPrecedes(codes[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
