internal import Glibc
internal import Lifecycle

extension Invocation {
    /// Asks on the terminal whether to continue. Returns after the answer `yes` or without a question for `--yes`, and
    /// throws otherwise.
    ///
    /// - Parameter nothingDone: the start of the error after another answer: `nothing was changed`.
    func confirm(orElse nothingDone: String) throws {
        let isConfirmed = hasOption("--yes")
        if !isConfirmed { print("Continue? Type yes: ", terminator: "") }
        // The question has no line end. If standard output is a file, it must also show the plan before standard error
        // shows the first line of progress.
        fflush(nil)
        if isConfirmed { return }
        guard readLine() == "yes" else {
            throw CommandError(status: .usage, "\(nothingDone); use --yes to skip this question")
        }
    }

    /// Writes to standard error, because a program may read standard output.
    func printProgress(_ text: String) {
        StandardError.printLine(text)
    }
}
