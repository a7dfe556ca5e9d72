package import LiveActivity

/// The bytes of a sheet as they were read. Requests, later tiers and dead letters use them.
package struct SheetContent: Sendable, Hashable {
    package var body: [UInt8]
    package var apns: [UInt8]
    package var flotilla: [UInt8]
    package var to: [UInt8]

    package init(body: [UInt8], apns: [UInt8], flotilla: [UInt8], to: [UInt8]) {
        self.body = body
        self.apns = apns
        self.flotilla = flotilla
        self.to = to
    }

    var bytes: Int { body.count + apns.count + flotilla.count + to.count }

    /// Returns the lines of some jobs, in the form of a separate sheet.
    package func lines(_ wanted: LineSet, by index: SheetIndex) -> [UInt8] {
        index.encodedLines(wanted, from: to)
    }

    /// Returns the lines of some jobs without the tokens.
    func addressees(_ wanted: LineSet, by index: SheetIndex) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(min(to.count, wanted.count * 128))
        unsafe to.withUnsafeBytes { bytes in
            wanted.forEachLine { line in
                let place = index.lines[line].addressee
                unsafe out.append(
                    contentsOf: UnsafeRawBufferPointer(
                        rebasing: bytes[Int(place.lowerBound)..<Int(place.upperBound)]))
                out.append(UInt8(ascii: "\n"))
            }
        }
        return out
    }
}

/// A parsed record of a jobs topic.
package struct SheetRecord: Sendable {
    package let content: SheetContent
    package let head: SheetHead
    package let index: SheetIndex
    /// The first position of the jobs; nil for a sheet that is there.
    package let origin: SheetOrigin?

    package init(_ content: SheetContent, origin: [UInt8]?) throws(SheetError) {
        self.content = content
        head = try SheetHead(apns: content.apns.span, flotilla: content.flotilla.span)
        index = try SheetIndex(parsing: content.to)
        guard let bytes = origin else {
            self.origin = nil
            return
        }
        let read = try SheetOrigin(parsing: bytes.span)
        guard read.lines.count == index.lines.count else { throw .invalid(.lines) }
        self.origin = read
    }
}
