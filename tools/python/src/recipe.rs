//! Recipes, and their selection by name.

use pyo3::prelude::*;

use crate::error::Failure;
use crate::interruptible::call;
use crate::numbers::unexpected;

/// The named way from text to fingerprint, which a database stores.
#[pyclass(frozen, eq, module = "simdb")]
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe(pub simdb::Recipe);

#[pymethods]
impl Recipe {
    /// The newest recipe of a name, with options: the bytes of a dictionary, of idf values or of
    /// stop words (jieba, cppjieba), the number of keywords (cppjieba), the class of characters
    /// (python-simhash).
    #[new]
    #[pyo3(signature = (name="ngram", *, dictionary=None, idf=None, stop_words=None, top=None, characters=None))]
    fn new(
        py: Python<'_>,
        name: &str,
        dictionary: Option<&[u8]>,
        idf: Option<&[u8]>,
        stop_words: Option<&[u8]>,
        top: Option<u32>,
        characters: Option<&str>,
    ) -> PyResult<Self> {
        call(py, || {
            let mut recipe = simdb::Recipe::by_name(name)?;
            if let Some(bytes) = dictionary {
                recipe = recipe.with_dictionary("dictionary", bytes)?;
            }
            if let Some(bytes) = idf {
                recipe = recipe.with_idf("idf", bytes)?;
            }
            if let Some(bytes) = stop_words {
                recipe = recipe.with_stop_words("stop_words", bytes)?;
            }
            if let Some(top) = top {
                recipe = recipe.with_top(top)?;
            }
            if let Some(characters) = characters {
                recipe = recipe.with_characters(characters)?;
            }
            Ok(Self(recipe))
        })
    }

    /// The name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The version. Every change of a bit of any fingerprint is a new version.
    #[getter]
    fn version(&self) -> u32 {
        self.0.version()
    }

    /// One line that names every choice that decides a bit.
    #[getter]
    fn description(&self) -> String {
        self.0.description()
    }

    fn __repr__(&self) -> String {
        format!("Recipe('{}')", self.0.name())
    }
}

/// All recipes without options, the default first.
#[pyfunction]
pub fn recipes() -> Vec<Recipe> {
    simdb::Recipe::all().into_iter().map(Recipe).collect()
}

/// A recipe or its name.
pub enum RecipeArgument<'py> {
    Name(String),
    Recipe(Bound<'py, Recipe>),
}

impl<'py> FromPyObject<'_, 'py> for RecipeArgument<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(recipe) = object.cast::<Recipe>() {
            return Ok(Self::Recipe(recipe.to_owned()));
        }
        let name = object.extract().map(Self::Name);
        name.map_err(|_: PyErr| unexpected(&object, "a recipe (Recipe, or its name as a str)"))
    }
}

impl RecipeArgument<'_> {
    pub fn into_recipe(self) -> Result<simdb::Recipe, simdb::Error> {
        match self {
            Self::Name(name) => simdb::Recipe::by_name(&name),
            Self::Recipe(recipe) => Ok(recipe.get().0.clone()),
        }
    }
}

/// The recipe that was asked for; `None` for the default of a function.
pub fn recipe_of(
    py: Python<'_>,
    asked: Option<RecipeArgument<'_>>,
) -> PyResult<Option<simdb::Recipe>> {
    let recipe = asked.map(RecipeArgument::into_recipe).transpose();
    recipe.map_err(|error| Failure::from(error).into_exception(py))
}
