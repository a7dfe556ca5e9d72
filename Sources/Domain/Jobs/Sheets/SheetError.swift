/// The reason why a sender cannot read a record of `jobs` as a sheet. The record goes to the dead letters with
/// this reason.
package enum SheetError: Error, Equatable, CustomStringConvertible {
    /// A header lacks a line that it needs.
    case missing(SheetLineName)
    /// The value of a header's line is not allowed.
    case invalid(SheetLineName)
    /// A header has a line that is not a name, `: ` and a value.
    case malformedLines
    /// The sheet has a schema version that this process does not know.
    case unknownVersion(Int64)
    /// The header `to` has no line.
    case noJobs
    /// The header `to` has more than `SheetHead.jobsMax` lines.
    case tooManyJobs
    /// A line of the header `to` is not a job. The value is the line's number, from 0.
    case invalidJob(Int)
    /// The header `unproven` is not a set of the sheet's lines.
    case invalidUnprovenLines

    /// A stable code, for programs and for `flotilla dead-letters --reason`.
    package var code: String {
        switch self {
        case .unknownVersion: "unknown_version"
        default: "sheet_malformed"
        }
    }

    package var description: String {
        switch self {
        case .missing(let line): "the sheet has no line \(line.rawValue)"
        case .invalid(let line): "the sheet's line \(line.rawValue) cannot be read"
        case .malformedLines: "a header of the sheet is not made of lines with a name and a value"
        case .unknownVersion(let version):
            "the sheet has schema version \(version), this process knows \(SheetHead.schemaVersion); update it and redrive the record"
        case .noJobs: "the sheet has no jobs"
        case .tooManyJobs: "the sheet has more than \(SheetHead.jobsMax) jobs"
        case .invalidJob(let line):
            "line \(line) of the sheet is not a token, an installation, an entry of the registry and a recipient"
        case .invalidUnprovenLines: "the sheet's header unproven is not a set of its lines, such as 0-199,201"
        }
    }
}
