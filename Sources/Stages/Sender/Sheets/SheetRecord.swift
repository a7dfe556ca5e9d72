package import Jobs

/// A record of a jobs topic, parsed: the bytes of a sheet, and what its headers say.
package struct SheetRecord: Sendable {
    package let content: SheetContent
    /// The fields of the headers `apns` and `flotilla`, which all lines share.
    package let head: SheetHead
    /// The fields of the lines, as ranges of the header `to`.
    package let index: SheetIndex
    /// The position where the jobs were first stored; nil if that is this record.
    package let origin: SheetOrigin?
    /// The lines whose tokens APNs has never accepted.
    package let unprovenLines: LineSet
    /// The cluster's stamp on the record in milliseconds since 1970. Nil if the cluster has set none.
    package let writtenAt: Int64?

    /// - Parameters:
    ///   - originHeader: the value of the header `origin`.
    ///   - unprovenHeader: the value of the header `unproven`.
    package init(
        _ content: SheetContent, origin originHeader: [UInt8]?, unproven unprovenHeader: [UInt8]? = nil,
        writtenAt: Int64? = nil
    ) throws(SheetError) {
        self.content = content
        self.writtenAt = writtenAt
        head = try SheetHead(apns: content.apns.span, flotilla: content.flotilla.span)
        index = try SheetIndex(parsing: content.to)
        unprovenLines = try UnprovenLines.parse(unprovenHeader, lineCount: index.lines.count)
        guard let originHeader else {
            origin = nil
            return
        }
        let parsedOrigin = try SheetOrigin(parsing: originHeader.span)
        guard parsedOrigin.lines.count == index.lines.count else { throw .invalid(.lines) }
        origin = parsedOrigin
    }
}
