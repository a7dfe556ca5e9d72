package import Jobs

/// A parsed record of a jobs topic.
package struct SheetRecord: Sendable {
    package let content: SheetContent
    package let head: SheetHead
    package let index: SheetIndex
    /// The position where the jobs were first stored; nil if that is this record.
    package let origin: SheetOrigin?

    /// - Parameter originHeader: the value of the header `origin`.
    package init(_ content: SheetContent, origin originHeader: [UInt8]?) throws(SheetError) {
        self.content = content
        head = try SheetHead(apns: content.apns.span, flotilla: content.flotilla.span)
        index = try SheetIndex(parsing: content.to)
        guard let originHeader else {
            origin = nil
            return
        }
        let parsedOrigin = try SheetOrigin(parsing: originHeader.span)
        guard parsedOrigin.lines.count == index.lines.count else { throw .invalid(.lines) }
        origin = parsedOrigin
    }
}
