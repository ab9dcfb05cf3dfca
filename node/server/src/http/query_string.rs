//! The parameters of a URL's query, decoded as the URL standard decodes a form.
//!
//! Each handler reads the names that it knows and ignores the others.

/// The parameters of a query, in its order
#[derive(Debug, Default)]
pub(super) struct QueryString(Vec<(String, String)>);

impl QueryString {
    pub(super) fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The first value of a name
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a name
    pub(super) fn all<'query>(&'query self, name: &str) -> impl Iterator<Item = &'query str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = QueryString::parse("tx=a&tx=b&&include=gas%2Clogs&x&%74x=c+d&e=%&f=%4&g=%zz");
        assert_eq!(query.all("tx").collect::<Vec<_>>(), ["a", "b", "c d"]);
        assert_eq!(query.get("include"), Some("gas,logs"));
        assert_eq!((query.get("x"), query.get("y")), (Some(""), None));
        assert_eq!(
            (query.get("e"), query.get("f"), query.get("g")),
            (Some("%"), Some("%4"), Some("%zz"))
        );
        assert_eq!(QueryString::parse("a=%ff").get("a"), Some("\u{fffd}"));
    }
}
