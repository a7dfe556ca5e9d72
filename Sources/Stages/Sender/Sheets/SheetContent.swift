package import Jobs

/// The bytes of a sheet as they were read. Requests, records of tiers and dead letters use them.
package struct SheetContent: Sendable, Hashable {
    /// The payload of the pushes: the record's value.
    package var body: [UInt8]
    /// The header with the fields of the APNs request.
    package var apns: [UInt8]
    /// The header with the fields of Flotilla, such as the app and the version.
    package var flotilla: [UInt8]
    /// The header with one line for each job: its token and its addressee.
    package var to: [UInt8]

    package init(body: [UInt8], apns: [UInt8], flotilla: [UInt8], to: [UInt8]) {
        self.body = body
        self.apns = apns
        self.flotilla = flotilla
        self.to = to
    }

    var byteCount: Int { body.count + apns.count + flotilla.count + to.count }

    /// Returns the header `to` of a sheet that has only these lines.
    package func lines(_ lines: LineSet, by index: SheetIndex) -> [UInt8] {
        index.encodedLines(lines, from: to)
    }

    /// Estimate for the memory that addressees need. They are a name of an installation, an entry and a recipient.
    private static let addresseeByteCountEstimate = 128

    /// Returns the header `to` of a receipt about lines: their addressees, without the tokens.
    func addressees(_ lines: LineSet, by index: SheetIndex) -> [UInt8] {
        var addressees: [UInt8] = []
        addressees.reserveCapacity(min(to.count, lines.count * Self.addresseeByteCountEstimate))
        unsafe to.withUnsafeBytes { bytes in
            lines.forEachLine { line in
                let addressee = index.lines[line].addressee
                unsafe addressees.append(
                    contentsOf: UnsafeRawBufferPointer(
                        rebasing: bytes[Int(addressee.lowerBound)..<Int(addressee.upperBound)]))
                addressees.append(UInt8(ascii: "\n"))
            }
        }
        return addressees
    }
}
