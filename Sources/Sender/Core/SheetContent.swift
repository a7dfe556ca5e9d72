package import LiveActivity

/// A sheet's bytes as they came: what is sent, and what a later tier or a dead letter is made of.
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

    /// The lines of some jobs, as a sheet of their own has them.
    package func lines(_ wanted: LineSet, _ index: SheetIndex) -> [UInt8] { index.lines(wanted, of: to) }

    /// The same without the tokens.
    func addressees(_ wanted: LineSet, _ index: SheetIndex) -> [UInt8] {
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

/// A record of a jobs topic, read.
package struct SheetRecord: Sendable {
    package let content: SheetContent
    package let head: SheetHead
    package let index: SheetIndex
    /// Nil for a sheet that stands where it first stood.
    package let origin: SheetOrigin?

    package init(_ content: SheetContent, origin: [UInt8]?) throws(SheetError) {
        self.content = content
        head = try SheetHead(apns: content.apns.span, flotilla: content.flotilla.span)
        index = try SheetIndex(content.to)
        guard let bytes = origin else {
            self.origin = nil
            return
        }
        let read = try SheetOrigin(bytes.span)
        guard read.lines.count == index.lines.count else { throw .wrong(.lines) }
        self.origin = read
    }
}
